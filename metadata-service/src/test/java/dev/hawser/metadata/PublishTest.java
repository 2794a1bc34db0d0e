/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import static dev.hawser.metadata.TestClient.header;
import static dev.hawser.metadata.TestClient.text;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Publish, renew, fetch, list and delete as {@code docs/metadata-service.md} says, over real connections. */
class PublishTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long EPOCH = 1_760_000_000_000_000L;

  private final MetadataService service = MetadataService.start(MetadataConfig.defaults());
  private final TestClient client = new TestClient(service.uri());

  @AfterEach
  void stop() {
    client.close();
    service.close();
  }

  @Test
  void binaryThereAndBack() {
    byte[] blob = new byte[4096];
    new Random(7).nextBytes(blob);
    HttpResponse<byte[]> published =
        client.send(
            "PUT",
            "/v1/agents/decode-0",
            blob,
            "Content-Type",
            "application/octet-stream",
            "Hawser-Epoch",
            "18446744073709551615",
            "Hawser-Ttl-Millis",
            "5000",
            "Hawser-Address",
            "10.0.0.7:7301",
            "Hawser-Labels",
            "role=decode,zone=a",
            "Hawser-Summary",
            "{ \"note\": \"\\u00fcber\", \"rails\": [1, 2] }");
    assertThat(published.statusCode()).isEqualTo(201);
    assertThat(header(published, "Hawser-Epoch")).isEqualTo("18446744073709551615");
    assertThat(header(published, "Hawser-Ttl-Millis")).isEqualTo("5000");

    HttpResponse<byte[]> fetched = client.fetch("decode-0");
    assertThat(fetched.statusCode()).isEqualTo(200);
    assertThat(fetched.body()).isEqualTo(blob);
    assertThat(header(fetched, "Content-Type")).isEqualTo("application/octet-stream");
    assertThat(header(fetched, "Hawser-Name")).isEqualTo("decode-0");
    assertThat(header(fetched, "Hawser-Epoch")).isEqualTo("18446744073709551615");
    assertThat(header(fetched, "Hawser-Revision")).isEqualTo(header(published, "Hawser-Revision"));
    assertThat(header(fetched, "Hawser-Ttl-Millis")).isEqualTo("5000");
    assertThat(Long.parseLong(header(fetched, "Hawser-Expires-In-Millis"))).isBetween(1L, 5000L);
    assertThat(header(fetched, "Hawser-Address")).isEqualTo("10.0.0.7:7301");
    assertThat(header(fetched, "Hawser-Labels")).isEqualTo("role=decode,zone=a");
    assertThat(header(fetched, "Hawser-Summary")).isEqualTo("{\"note\":\"\\u00FCber\",\"rails\":[1,2]}");
  }

  @Test
  void jsonThereAndBack() throws IOException {
    String blob = Base64.getEncoder().encodeToString(new byte[] {0, 1, -1});
    HttpResponse<byte[]> published =
        client.put(
            "/v1/agents/decode-0",
            "application/json; charset=utf-8",
            """
                {"epoch":"1760000000000000","ttl_millis":5000,"address":"10.0.0.7:7301","labels":{"role":"decode"},
                 "summary":{"note":"über"},"expect_epoch":0,"blob":"%s"}"""
                .formatted(blob));
    assertThat(published.statusCode()).as(text(published)).isEqualTo(201);
    assertThat(JSON.readTree(published.body()).get("epoch").textValue()).isEqualTo("1760000000000000");

    JsonNode agent = JSON.readTree(client.get("/v1/agents/decode-0").body());
    assertThat(agent.get("name").textValue()).isEqualTo("decode-0");
    assertThat(agent.get("epoch").textValue()).isEqualTo("1760000000000000");
    assertThat(agent.get("labels").get("role").textValue()).isEqualTo("decode");
    assertThat(agent.get("summary").get("note").textValue()).isEqualTo("über");
    assertThat(agent.get("blob").textValue()).isEqualTo(blob);
    assertThat(agent.get("ttl_millis").longValue()).isEqualTo(5000);
    assertThat(client.fetch("decode-0").body()).isEqualTo(new byte[] {0, 1, -1});
  }

  @Test
  void staleEpochIsRefusedWithWhatIsRecorded() throws IOException {
    client.publish("a", EPOCH + 1, "new", "Hawser-Address", "10.0.0.8:7301");
    HttpResponse<byte[]> refused = client.publish("a", EPOCH, "old");
    assertThat(refused.statusCode()).isEqualTo(409);
    assertThat(header(refused, "Hawser-Problem")).isEqualTo("epoch-superseded");
    assertThat(header(refused, "Hawser-Recorded-Epoch")).isEqualTo(Long.toString(EPOCH + 1));
    assertThat(header(refused, "Hawser-Recorded-Address")).isEqualTo("10.0.0.8:7301");
    assertThat(header(refused, "Content-Type")).isEqualTo("application/problem+json");
    JsonNode problem = JSON.readTree(refused.body());
    assertThat(problem.get("type").textValue()).isEqualTo("urn:hawser:problem:epoch-superseded");
    assertThat(problem.get("status").intValue()).isEqualTo(409);
    assertThat(problem.get("recorded_epoch").textValue()).isEqualTo(Long.toString(EPOCH + 1));
    assertThat(problem.get("recorded_address").textValue()).isEqualTo("10.0.0.8:7301");
    assertThat(problem.get("instance").textValue()).isEqualTo("/v1/agents/a");
    assertThat(problem.get("request_id").textValue()).isEqualTo(header(refused, "Hawser-Request-Id"));
    assertThat(problem.get("detail").textValue()).isEqualTo(header(refused, "Hawser-Detail"));
    assertThat(text(client.fetch("a"))).isEqualTo("new");
  }

  @Test
  void takeoverNamesTheReplacedEpoch() {
    client.publish("a", EPOCH, "old");
    HttpResponse<byte[]> taken =
        client.publish("a", EPOCH + 1, "new", "Hawser-Expect-Epoch", Long.toString(EPOCH));
    assertThat(taken.statusCode()).isEqualTo(200);
    assertThat(header(taken, "Hawser-Replaced-Epoch")).isEqualTo(Long.toString(EPOCH));
    HttpResponse<byte[]> late =
        client.publish("a", EPOCH + 2, "newer", "Hawser-Expect-Epoch", Long.toString(EPOCH));
    assertThat(late.statusCode()).isEqualTo(409);
    assertThat(header(late, "Hawser-Problem")).isEqualTo("epoch-mismatch");
    assertThat(header(late, "Hawser-Recorded-Epoch")).isEqualTo(Long.toString(EPOCH + 1));
    assertThat(client.renew("a", EPOCH).statusCode()).isEqualTo(409);
  }

  @Test
  void sameEpochUpdatesAndTheRevisionGrows() {
    long first = Long.parseLong(header(client.publish("a", EPOCH, "one"), "Hawser-Revision"));
    HttpResponse<byte[]> again = client.publish("a", EPOCH, "two");
    assertThat(again.statusCode()).isEqualTo(200);
    assertThat(Long.parseLong(header(again, "Hawser-Revision"))).isEqualTo(first + 1);
    assertThat(header(client.publish("a", EPOCH, "two"), "Hawser-Revision")).isEqualTo(Long.toString(first + 1));
  }

  @Test
  void presenceRunsOutAndRenewalProlongsIt() throws InterruptedException {
    client.publish("short", EPOCH, "x", "Hawser-Ttl-Millis", "300");
    client.publish("long", EPOCH, "x", "Hawser-Ttl-Millis", "300");
    HttpResponse<byte[]> renewed = client.renew("long", EPOCH, "Hawser-Ttl-Millis", "60000");
    assertThat(renewed.statusCode()).isEqualTo(200);
    assertThat(header(renewed, "Hawser-Ttl-Millis")).isEqualTo("60000");
    try (WatchReader watch = client.watch("?names=short&revision=" + header(renewed, "Hawser-Revision"))) {
      assertThat(watch.take().event()).isEqualTo("ready");
      assertThat(watch.take().event()).isEqualTo("expire");
    }
    assertThat(client.fetch("short").statusCode()).isEqualTo(404);
    assertThat(header(client.renew("short", EPOCH), "Hawser-Problem")).isEqualTo("agent-unknown");
    assertThat(client.fetch("long").statusCode()).isEqualTo(200);
  }

  @Test
  void renewalCarriesASummary() throws IOException {
    client.publish("a", EPOCH, "x");
    HttpResponse<byte[]> renewed =
        client.send(
            "POST",
            "/v1/agents/a/renew?epoch=" + EPOCH,
            "{\"gbits\": 92}".getBytes(StandardCharsets.UTF_8),
            "Content-Type",
            "application/json");
    assertThat(renewed.statusCode()).isEqualTo(200);
    assertThat(JSON.readTree(client.get("/v1/agents/a").body()).at("/summary/gbits").intValue()).isEqualTo(92);
  }

  @Test
  void batchOfRenewalsAsText() {
    client.publish("a", EPOCH, "x");
    client.publish("b", EPOCH + 1, "x");
    HttpResponse<byte[]> answer =
        client.post("/v1/renew", "text/plain", "a " + EPOCH + "\nb " + EPOCH + " 5000\nc 1\n");
    assertThat(answer.statusCode()).isEqualTo(200);
    assertThat(text(answer)).isEqualTo("a ok\nb superseded " + (EPOCH + 1) + "\nc unknown\n");
  }

  @Test
  void batchOfRenewalsAsJson() throws IOException {
    client.publish("a", EPOCH, "x");
    client.publish("b", EPOCH + 1, "x");
    HttpResponse<byte[]> answer =
        client.post(
            "/v1/renew",
            "application/json",
            """
                {"agents":[{"name":"a","epoch":%d,"ttl_millis":20000,"summary":{"n":1}},{"name":"b","epoch":"%d"},
                 {"name":"c","epoch":"1"}]}"""
                .formatted(EPOCH, EPOCH));
    assertThat(answer.statusCode()).as(text(answer)).isEqualTo(200);
    JsonNode agents = JSON.readTree(answer.body()).get("agents");
    assertThat(agents.findValuesAsText("status")).containsExactly("ok", "superseded", "unknown");
    assertThat(agents.get(1).get("recorded_epoch").textValue()).isEqualTo(Long.toString(EPOCH + 1));
    JsonNode agent = JSON.readTree(client.get("/v1/agents/a").body());
    assertThat(agent.get("ttl_millis").intValue()).isEqualTo(20000);
    assertThat(agent.at("/summary/n").intValue()).isEqualTo(1);
  }

  @Test
  void deletionIsForTheOwner() {
    client.publish("a", EPOCH, "x");
    assertThat(client.delete("a", EPOCH - 1).statusCode()).isEqualTo(409);
    assertThat(client.delete("a", EPOCH + 1).statusCode()).isEqualTo(404);
    assertThat(client.delete("a", EPOCH).statusCode()).isEqualTo(204);
    assertThat(client.delete("a", EPOCH).statusCode()).isEqualTo(404);
    assertThat(client.fetch("a").statusCode()).isEqualTo(404);
    HttpResponse<byte[]> stale = client.publish("a", EPOCH - 1, "x");
    assertThat(stale.statusCode()).as("an old incarnation does not come back").isEqualTo(409);
  }

  @Test
  void listsAsJson() throws IOException {
    client.publish("a", EPOCH, "x", "Hawser-Labels", "role=prefill,gpu=0000:17:00.0");
    client.publish("b", EPOCH, "x", "Hawser-Labels", "role=decode");
    client.publish("c", EPOCH, "x", "Hawser-Labels", "role=decode");
    assertThat(listed("/v1/agents")).containsExactly("a", "b", "c");
    assertThat(listed("/v1/agents?label=role:decode")).containsExactly("b", "c");
    assertThat(listed("/v1/agents?label=gpu:0000:17:00.0&label=role:prefill")).containsExactly("a");
    assertThat(listed("/v1/agents?label=role:decode&label=zone:a")).isEmpty();
    assertThat(listed("/v1/agents?names=c,nobody&names=a")).containsExactly("a", "c");
    JsonNode page = JSON.readTree(client.get("/v1/agents?limit=2&blobs=true").body());
    assertThat(page.get("next_after").textValue()).isEqualTo("b");
    assertThat(page.get("agents").get(0).get("blob").textValue()).isEqualTo("eA==");
    assertThat(listed("/v1/agents?limit=2&after=b")).containsExactly("c");
  }

  @Test
  void listsAsFrames() {
    client.publish("a", EPOCH, "first blob", "Hawser-Address", "h:1", "Hawser-Labels", "role=prefill");
    client.publish("b", -2L, "x".repeat(70_000), "Hawser-Summary", "{\"n\":1}", "Hawser-Ttl-Millis", "7000");
    HttpResponse<byte[]> listed = client.get("/v1/agents?names=a,b,c", "Accept", "application/octet-stream");
    List<Frame> frames = Frame.read(listed.body());
    assertThat(frames).hasSize(2);
    Frame first = frames.getFirst();
    assertThat(first.epoch()).isEqualTo(EPOCH);
    assertThat(first.name()).isEqualTo("a");
    assertThat(first.address()).isEqualTo("h:1");
    assertThat(first.labels()).isEqualTo("role=prefill");
    assertThat(first.blob()).isEqualTo("first blob");
    assertThat(first.ttl()).isEqualTo(10_000);
    assertThat(first.left()).isBetween(1, 10_000);
    Frame second = frames.getLast();
    assertThat(second.epoch()).isEqualTo(-2L);
    assertThat(second.summary()).isEqualTo("{\"n\":1}");
    assertThat(second.blob()).hasSize(70_000);
    assertThat(Long.toString(second.revision())).isEqualTo(header(listed, "Hawser-Revision"));
    HttpResponse<byte[]> bare = client.get("/v1/agents?blobs=false", "Accept", "application/octet-stream");
    assertThat(Frame.read(bare.body())).extracting(Frame::blob).containsExactly("", "");
  }

  @Test
  void longListsComeInPages() {
    String blob = "x".repeat(3 << 20);
    for (String name : List.of("a", "b", "c", "d")) {
      client.publish(name, EPOCH, blob);
    }
    HttpResponse<byte[]> first = client.get("/v1/agents", "Accept", "application/octet-stream");
    assertThat(Frame.read(first.body())).extracting(Frame::name).containsExactly("a", "b");
    assertThat(header(first, "Hawser-Next-After")).isEqualTo("b");
    HttpResponse<byte[]> second = client.get("/v1/agents?after=b", "Accept", "application/octet-stream");
    assertThat(Frame.read(second.body())).extracting(Frame::name).containsExactly("c", "d");
    assertThat(header(second, "Hawser-Next-After")).isEmpty();
  }

  @Test
  void blobGrowsByWhatIsNew() throws NoSuchAlgorithmException {
    String first = header(client.publish("a", 1, "one,", "Hawser-Labels", "r=p"), "Hawser-Revision");
    try (WatchReader watch = client.watch("?form=plain")) {
      watch.take();
      HttpResponse<byte[]> appended = append(4, "two,");
      assertThat(appended.statusCode()).isEqualTo(200);
      String second = header(appended, "Hawser-Revision");
      assertThat(Long.parseUnsignedLong(second)).isGreaterThan(Long.parseUnsignedLong(first));
      assertThat(watch.take().id()).as("watchers hear of it").isEqualTo(second);
      assertThat(header(append(4, "two,"), "Hawser-Revision")).as("a repetition changes nothing").isEqualTo(second);
      assertThat(append(8, "three").statusCode()).isEqualTo(200);
    }

    assertThat(text(client.fetch("a"))).isEqualTo("one,two,three");
    assertThat(header(client.fetch("a"), "Hawser-Labels")).isEqualTo("r=p");
    HttpResponse<byte[]> rest = fetchBehind("one,");
    assertThat(text(rest)).isEqualTo("two,three");
    assertThat(header(rest, "Hawser-Blob-Offset")).isEqualTo("4");
    assertThat(fetchBehind("one,two,three").body()).isEmpty();
    for (String other : List.of("ONE,", "one,two,three,four")) {
      HttpResponse<byte[]> whole = fetchBehind(other);
      assertThat(text(whole)).as("what begins otherwise is sent whole").isEqualTo("one,two,three");
      assertThat(header(whole, "Hawser-Blob-Offset")).isEmpty();
    }
  }

  private HttpResponse<byte[]> append(int offset, String more) {
    return client.send("PATCH", "/v1/agents/a", more.getBytes(StandardCharsets.UTF_8), "Content-Type",
        "application/octet-stream", "Hawser-Epoch", "1", "Hawser-Blob-Offset", Integer.toString(offset));
  }

  private HttpResponse<byte[]> fetchBehind(String known) throws NoSuchAlgorithmException {
    byte[] bytes = known.getBytes(StandardCharsets.UTF_8);
    return client.get("/v1/agents/a", "Accept", "application/octet-stream", "Hawser-Blob-Known",
        bytes.length + " " + HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes)));
  }

  @Test
  void unchangedIsNotSentAgain() {
    client.publish("a", EPOCH, "x");
    String tag = header(client.fetch("a"), "ETag");
    HttpResponse<byte[]> same = client.get("/v1/agents/a", "If-None-Match", tag);
    assertThat(same.statusCode()).isEqualTo(304);
    assertThat(same.body()).isEmpty();
    client.publish("a", EPOCH, "y");
    assertThat(client.get("/v1/agents/a", "If-None-Match", tag).statusCode()).isEqualTo(200);
  }

  @Test
  void headTellsTheEnvelope() {
    client.publish("a", EPOCH, "12345");
    HttpResponse<byte[]> head = client.send("HEAD", "/v1/agents/a", null, "Accept", "application/octet-stream");
    assertThat(head.statusCode()).isEqualTo(200);
    assertThat(header(head, "Content-Length")).isEqualTo("5");
    assertThat(header(head, "Hawser-Epoch")).isEqualTo(Long.toString(EPOCH));
  }

  @Test
  void namesMayBePercentEncoded() {
    client.publish("a:b@c", EPOCH, "x");
    assertThat(client.fetch("a%3Ab%40c").statusCode()).isEqualTo(200);
  }

  @Test
  void requestIdIsKeptOrMade() {
    assertThat(header(client.get("/health/live", "Hawser-Request-Id", "r-1"), "Hawser-Request-Id")).isEqualTo("r-1");
    assertThat(header(client.get("/health/live", "Hawser-Request-Id", "no good"), "Hawser-Request-Id"))
        .isNotEmpty()
        .isNotEqualTo("no good");
  }

  @Test
  void isLiveAndReady() {
    assertThat(client.get("/health/live").statusCode()).isEqualTo(200);
    assertThat(text(client.get("/health/ready"))).isEqualTo("{\"status\":\"up\"}");
  }

  private List<String> listed(String path) throws IOException {
    return JSON.readTree(client.get(path).body()).get("agents").findValuesAsText("name");
  }

  /** A frame of a list, read as the page describes it. */
  record Frame(
      long epoch,
      long revision,
      int ttl,
      int left,
      String name,
      String address,
      String labels,
      String summary,
      String blob) {

    static List<Frame> read(byte[] bytes) {
      ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
      List<Frame> frames = new ArrayList<>();
      while (in.hasRemaining()) {
        int end = in.getInt() + in.position();
        frames.add(
            new Frame(
                in.getLong(),
                in.getLong(),
                in.getInt(),
                in.getInt(),
                text(in, in.getShort()),
                text(in, in.getShort()),
                text(in, in.getInt()),
                text(in, in.getInt()),
                text(in, in.getInt())));
        assertThat(in.position()).isEqualTo(end);
      }
      return frames;
    }

    private static String text(ByteBuffer in, int length) {
      byte[] bytes = new byte[length];
      in.get(bytes);
      return new String(bytes, StandardCharsets.UTF_8);
    }
  }
}
