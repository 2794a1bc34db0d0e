// SPDX-License-Identifier: Apache-2.0
// Shows what agents say of themselves. Everything that comes from an agent is put in as text, never as markup.

const POLL_MILLIS = 2000;
const PRESENCE_MILLIS = 500;
const SAMPLES = 150;
const SOON = 0.25;
const MAX_DRAWN = 60;
const MAX_MARKS = 16;
const TOKEN = 'hawser-token';
const SVG = 'http://www.w3.org/2000/svg';

const byId = (id) => document.getElementById(id);
const history = new Map(); // name, or '' for all → [{gbits, latency}]
let agents = [];
let chosen = '';
let listedAt = 0;
let recordedAt = -POLL_MILLIS;
let listing = false;
let listAgain = false;

function element(name, attributes = {}, ...children) {
  const made = name.startsWith('svg:') ? document.createElementNS(SVG, name.slice(4)) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(key, value === true ? '' : value);
  }
  made.append(...children);
  return made;
}

function headers() {
  const token = sessionStorage.getItem(TOKEN);
  return token ? { Authorization: `Bearer ${token}` } : {};
}

const number = (value) => (Number.isFinite(value) ? value : 0);
const array = (value) => (Array.isArray(value) ? value : []);
const shown = (value) => (value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value.toFixed(2));
const railsOf = (agent) => array(agent.summary?.rails);
const peersOf = (agent) => array(agent.summary?.peers);
const gbitsOf = (agent) => railsOf(agent).reduce((sum, rail) => sum + number(rail?.gbits?.tx) + number(rail?.gbits?.rx), 0);
const latencyOf = (agent) => Math.max(0, ...railsOf(agent).map((rail) => number(rail?.latency_us?.p99)));

function leftOf(agent) {
  return Math.max(0, agent.expires_in_millis - (performance.now() - listedAt));
}

const isSoon = (agent) => leftOf(agent) < SOON * agent.ttl_millis;

async function list() {
  if (listing) {
    listAgain = true;
    return;
  }
  listing = true;
  try {
    let all = [];
    let after = '';
    do {
      const response = await fetch(`v1/agents?limit=1000${after && `&after=${encodeURIComponent(after)}`}`, { headers: headers(), cache: 'no-store' });
      if (response.status === 401) {
        askForToken();
        return;
      }
      if (!response.ok) throw new Error((await response.json()).detail);
      const page = await response.json();
      all = all.concat(page.agents);
      after = page.next_after ?? '';
    } while (after);
    listedAt = performance.now();
    agents = all;
    say(`${agents.length} ${agents.length === 1 ? 'agent' : 'agents'}, live`);
    record();
    draw();
  } catch (failed) {
    say(`The service does not answer (${failed.message}). What is shown may be old; trying again.`);
  } finally {
    listing = false;
    if (listAgain) {
      listAgain = false;
      list();
    }
  }
}

function record() {
  // Lists come more often than samples: each change of an agent is one.
  if (performance.now() - recordedAt < 0.9 * POLL_MILLIS) return;
  recordedAt = performance.now();
  const names = new Set(['']);
  push('', { gbits: agents.reduce((sum, agent) => sum + gbitsOf(agent), 0), latency: Math.max(0, ...agents.map(latencyOf)) });
  for (const agent of agents) {
    names.add(agent.name);
    push(agent.name, { gbits: gbitsOf(agent), latency: latencyOf(agent) });
  }
  for (const name of history.keys()) if (!names.has(name)) history.delete(name);
}

function push(name, sample) {
  const samples = history.get(name) ?? [];
  samples.push(sample);
  if (samples.length > SAMPLES) samples.shift();
  history.set(name, samples);
}

function say(text) {
  if (byId('state').textContent !== text) byId('state').textContent = text;
}

function askForToken() {
  const refused = sessionStorage.getItem(TOKEN) !== null;
  sessionStorage.removeItem(TOKEN);
  byId('login').hidden = false;
  byId('refused').textContent = refused ? 'That token is not known here.' : '';
  say('waiting for a token');
  byId('token').focus();
}

byId('login').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, byId('token').value);
  byId('token').value = '';
  byId('login').hidden = true;
  list();
  follow();
});

function draw() {
  if (chosen && !agents.some((agent) => agent.name === chosen)) chosen = '';
  drawTroubles();
  drawMap();
  drawCharts();
  drawAgents();
}

function troubles() {
  const found = [];
  const present = new Set(agents.map((agent) => agent.name));
  for (const agent of agents) {
    if (isSoon(agent)) found.push(`${agent.name} has not renewed its presence: it expires in ${(leftOf(agent) / 1000).toFixed(1)} s.`);
    for (const rail of railsOf(agent)) {
      if (rail?.up === false) found.push(`${agent.name}: rail ${rail.name} is down${rail.note ? `: ${rail.note}` : ''}.`);
    }
    for (const peer of peersOf(agent)) {
      if (array(peer?.failed).length && !present.has(peer.name)) {
        found.push(`${agent.name} does not reach ${peer.name}, which is not registered here any more.`);
        continue;
      }
      for (const failed of array(peer?.failed)) {
        found.push(`${agent.name} cannot reach ${peer.name} over ${failed.rail}${failed.why ? `: ${failed.why}` : ''}.`);
      }
    }
  }
  return found;
}

function drawTroubles() {
  const found = troubles();
  byId('troubles').hidden = found.length === 0;
  const shownOnes = found.slice(0, 50).map((text) => element('li', {}, text));
  if (found.length > 50) shownOnes.push(element('li', {}, `and ${found.length - 50} more`));
  byId('trouble-list').replaceChildren(...shownOnes);
}

function drawMap() {
  const drawn = agents.slice(0, MAX_DRAWN);
  const width = 480;
  const height = 340;
  const radius = drawn.length > 1 ? 120 : 0;
  const at = new Map();
  drawn.forEach((agent, i) => {
    const angle = (2 * Math.PI * i) / drawn.length - Math.PI / 2;
    at.set(agent.name, { x: width / 2 + 1.45 * radius * Math.cos(angle), y: height / 2 + radius * Math.sin(angle) });
  });
  const edges = [];
  let links = 0;
  for (const agent of drawn) {
    for (const peer of peersOf(agent)) {
      const from = at.get(agent.name);
      const to = at.get(peer?.name);
      if (!to || to === from) continue;
      links++;
      const failed = array(peer.failed).length > 0;
      const edge = element('svg:path', {
        class: failed ? 'edge failed' : 'edge',
        d: `M${from.x} ${from.y} Q${(from.x + to.x) / 2 + (to.y - from.y) / 10} ${(from.y + to.y) / 2 - (to.x - from.x) / 10} ${to.x} ${to.y}`,
        'stroke-width': Math.min(8, 1 + Math.sqrt(number(peer.gbits)) / 3),
      });
      edge.append(element('svg:title', {}, `${agent.name} to ${peer.name}: ${shown(number(peer.gbits))} Gb/s${failed ? ', with failed paths' : ''}`));
      edges.push(edge);
    }
  }
  const nodes = drawn.map((agent) => {
    const { x, y } = at.get(agent.name);
    const node = element('svg:g', {
      class: `node${isSoon(agent) ? ' soon' : ''}${agent.name === chosen ? ' chosen' : ''}`,
      tabindex: 0,
      role: 'button',
      'aria-pressed': String(agent.name === chosen),
      'aria-label': `${agent.name}, ${railsOf(agent).length} rails${railsOf(agent).some((rail) => rail?.up === false) ? ', some down' : ''}, ${shown(gbitsOf(agent))} gigabits per second`,
      'data-name': agent.name,
    }, element('svg:circle', { class: 'body', cx: x, cy: y, r: 9 }), ...railMarks(agent, x, y), element('svg:text', { x, y: y + 23, 'text-anchor': 'middle' }, agent.name.length > 22 ? `${agent.name.slice(0, 21)}…` : agent.name));
    return node;
  });
  const focused = document.activeElement?.closest?.('#map .node')?.dataset.name;
  byId('map').replaceChildren(element('svg:svg', { viewBox: `0 0 ${width} ${height}`, role: 'group', 'aria-label': 'Agents and the links between them' }, ...edges, ...nodes));
  if (focused !== undefined) byId('map').querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
  byId('map-text').textContent = `${drawn.length} agents, ${links} links.${agents.length > drawn.length ? ` ${agents.length - drawn.length} more are in the list below only.` : ''}`;
}

// One mark for each rail, around its agent; what does not fit is in the card.
function railMarks(agent, x, y) {
  const rails = railsOf(agent).slice(0, MAX_MARKS);
  return rails.map((rail, i) => {
    const angle = (2 * Math.PI * i) / Math.max(6, rails.length) - Math.PI / 2;
    const mark = element('svg:circle', { class: rail?.up === false ? 'mark down' : 'mark', cx: x + 13 * Math.cos(angle), cy: y + 13 * Math.sin(angle), r: 3 });
    mark.append(element('svg:title', {}, railText(rail)));
    return mark;
  });
}

const railText = (rail) => `${rail?.name}: ${rail?.up === false ? 'down' : `${shown(number(rail?.gbits?.tx))} out, ${shown(number(rail?.gbits?.rx))} in Gb/s, p99 ${shown(number(rail?.latency_us?.p99))} µs`}`;

function drawCharts() {
  byId('chart-of').textContent = chosen || 'all agents';
  byId('show-all').hidden = !chosen;
  const samples = history.get(chosen) ?? [];
  chart('gbits', samples.map((sample) => sample.gbits), 'Gb/s');
  chart('latency', samples.map((sample) => sample.latency), 'µs');
}

function chart(id, values, unit) {
  const width = 400;
  const height = 110;
  const top = Math.max(1, ...values) * 1.1;
  const last = values.at(-1) ?? 0;
  const points = values.map((value, i) => `${(width * (i + SAMPLES - values.length)) / (SAMPLES - 1)},${height - (height * value) / top}`);
  const peak = Math.max(0, ...values);
  byId(`${id}-now`).textContent = `${shown(last)} ${unit}, at most ${shown(peak)} in the last ${Math.round((values.length * POLL_MILLIS) / 1000)} s`;
  byId(id).replaceChildren(
    element('svg:svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${shown(last)} ${unit} now, ${shown(peak)} at most` },
      element('svg:path', { class: 'grid', d: `M0 ${height}H${width}M0 ${height / 2}H${width}M0 0.5H${width}` }),
      element('svg:text', { class: 'axis', x: 2, y: 12 }, shown(top)),
      element('svg:polyline', { class: 'series', points: points.join(' ') })));
}

function drawAgents() {
  const wanted = byId('filter').value.trim().toLowerCase();
  const matching = agents.filter((agent) => !wanted || textOf(agent).includes(wanted));
  byId('none').hidden = agents.length !== 0;
  const focused = document.activeElement?.closest?.('.agent')?.dataset.name;
  byId('agents').replaceChildren(...matching.slice(0, 500).map((agent) => element('li', {}, card(agent))));
  if (focused !== undefined) byId('agents').querySelector(`[data-name="${CSS.escape(focused)}"]`)?.focus();
}

function textOf(agent) {
  return [agent.name, ...Object.entries(agent.labels).map(([key, value]) => `${key}:${value}`), ...railsOf(agent).map((rail) => String(rail?.name))].join(' ').toLowerCase();
}

function card(agent) {
  const bar = element('i');
  bar.style.width = leftWidth(agent);
  const rails = railsOf(agent).map((rail) => element('span', { class: rail?.up === false ? 'rail down' : 'rail' }, railText(rail)));
  const labels = Object.entries(agent.labels).map(([key, value]) => `${key}:${value}`).join(' ');
  const micros = Number(agent.epoch) / 1000;
  const since = micros > 1e12 && micros < 4e12 ? `since ${new Date(micros).toLocaleString()}` : `epoch ${agent.epoch}`;
  return element('button', { type: 'button', class: isSoon(agent) ? 'agent soon' : 'agent', 'aria-pressed': String(agent.name === chosen), 'data-name': agent.name },
    element('strong', {}, agent.name),
    element('small', {}, [agent.address, labels, since].filter(Boolean).join(' · ')),
    element('span', { class: 'presence', 'aria-hidden': 'true' }, bar),
    element('small', { class: 'left' }, leftText(agent)),
    ...rails);
}

const leftText = (agent) => (isSoon(agent)
  ? `expires in ${(leftOf(agent) / 1000).toFixed(1)} s`
  : `present, ${Math.ceil(leftOf(agent) / 1000)} of ${Math.ceil(agent.ttl_millis / 1000)} s left`);
const leftWidth = (agent) => `${Math.min(100, (100 * leftOf(agent)) / agent.ttl_millis)}%`;

// Between two lists only presence moves: in place, so that nothing jumps under a pointer.
function refreshPresence() {
  for (const agent of agents) {
    const shownCard = byId('agents').querySelector(`[data-name="${CSS.escape(agent.name)}"]`);
    if (shownCard) {
      shownCard.classList.toggle('soon', isSoon(agent));
      shownCard.querySelector('.presence i').style.width = leftWidth(agent);
      shownCard.querySelector('.left').textContent = leftText(agent);
    }
    byId('map').querySelector(`[data-name="${CSS.escape(agent.name)}"]`)?.classList.toggle('soon', isSoon(agent));
  }
  drawTroubles();
}

function choose(name) {
  chosen = name === chosen ? '' : name;
  draw();
}

document.addEventListener('click', (event) => {
  const name = event.target.closest?.('[data-name]')?.dataset.name;
  if (name !== undefined) choose(name);
});
byId('map').addEventListener('keydown', (event) => {
  const name = event.target.closest?.('[data-name]')?.dataset.name;
  if (name !== undefined && (event.key === 'Enter' || event.key === ' ')) {
    event.preventDefault();
    choose(name);
  }
});
byId('show-all').addEventListener('click', () => choose(chosen));
byId('filter').addEventListener('input', drawAgents);

// The watch says that something changed; fetch, unlike EventSource, can carry a token.
let following = false;
async function follow() {
  if (following) return;
  following = true;
  while (following) {
    try {
      const response = await fetch('v1/watch?form=plain', { headers: headers(), cache: 'no-store' });
      if (response.status === 401) break;
      if (!response.ok) throw new Error(String(response.status));
      const reader = response.body.getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) list();
    } catch {
      // Told by list(), which runs anyway.
    }
    await new Promise((wake) => setTimeout(wake, POLL_MILLIS));
  }
  following = false;
}

list();
follow();
setInterval(() => {
  if (!document.hidden) refreshPresence();
}, PRESENCE_MILLIS);
setInterval(() => {
  if (!document.hidden && byId('login').hidden) list();
}, POLL_MILLIS);
