/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.plot;

import java.util.Formatter;
import java.util.List;
import java.util.Locale;
import java.util.function.LongFunction;

/**
 * Draws panels of series over size as one self-contained SVG, which follows the viewer's choice of a light or a dark
 * scheme. The same input gives the same bytes.
 */
public final class SvgPlot {
  /** Colours that stay apart for most kinds of colour blindness (Okabe and Ito), for light and for dark grounds. */
  private static final String[][] COLOURS = {{"#0072b2", "#56b4e9"}, {"#d55e00", "#ff9e4a"}, {"#009e73", "#3ddbab"},
      {"#aa4499", "#e79fdb"}, {"#997700", "#f0d94a"}, {"#555555", "#c8c8c8"}};
  private static final int PANEL_WIDTH = 460;
  private static final int PANEL_HEIGHT = 300;
  private static final int LEFT = 62;
  private static final int RIGHT = 24;
  private static final int TOP = 78;
  private static final int BOTTOM = 52;
  private static final int LEGEND_LINE = 20;

  private final LongFunction<String> sizeLabel;
  private final Formatter svg = new Formatter(new StringBuilder(16_384), Locale.ROOT);

  private SvgPlot(LongFunction<String> sizeLabel) {
    this.sizeLabel = sizeLabel;
  }

  /**
   * Draws.
   *
   * @param title the heading
   * @param panels at least one, with at least one point in all
   * @param sizeLabel how to write a number of bytes
   * @throws IllegalArgumentException if there is nothing to draw, or a value is not positive
   */
  public static String draw(String title, List<Panel> panels, LongFunction<String> sizeLabel) {
    for (Panel panel : panels) {
      if (panel.series().stream().allMatch(series -> series.points().isEmpty())) {
        throw new IllegalArgumentException("nothing to draw in the panel '" + panel.title() + "'");
      }
      for (Series series : panel.series()) {
        for (Series.Point point : series.points()) {
          if (point.bytes() < 1 || !(point.value() > 0) || Double.isInfinite(point.value())) {
            throw new IllegalArgumentException("cannot draw " + point + " of '" + series.name() + "'");
          }
        }
      }
    }
    return new SvgPlot(sizeLabel).document(title, panels);
  }

  private String document(String title, List<Panel> panels) {
    List<Series> legend = panels.getFirst().series();
    int panelWidth = LEFT + PANEL_WIDTH + RIGHT;
    int width = panels.size() * panelWidth;
    int legendLines = Math.ceilDiv(legend.size(), 4);
    int height = TOP + PANEL_HEIGHT + BOTTOM + legendLines * LEGEND_LINE + 10;
    svg.format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n",
        width, height, width, height);
    svg.format("<title>%s</title>\n", escape(title));
    style(legend.size());
    svg.format("<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n", width, height);
    svg.format("<text class=\"heading\" x=\"%d\" y=\"30\">%s</text>\n", LEFT, escape(title));
    for (int i = 0; i < panels.size(); i++) {
      panel(panels.get(i), i * panelWidth);
    }
    legend(legend, TOP + PANEL_HEIGHT + BOTTOM, (width - LEFT) / 4);
    svg.format("</svg>\n");
    return svg.toString();
  }

  private void style(int series) {
    StringBuilder light = new StringBuilder();
    StringBuilder dark = new StringBuilder();
    for (int i = 0; i < Math.min(series, COLOURS.length); i++) {
      light.append("--s").append(i).append(':').append(COLOURS[i][0]).append(';');
      dark.append("--s").append(i).append(':').append(COLOURS[i][1]).append(';');
    }
    svg.format("<style>\n");
    svg.format("svg{--ground:#ffffff;--ink:#1f2328;--faint:#59636e;--grid:#e3e6ea;%s}\n", light);
    svg.format(
        "@media (prefers-color-scheme: dark){svg{--ground:#0d1117;--ink:#e6edf3;--faint:#9198a1;--grid:#2a313a;%s}}\n",
        dark);
    svg.format("text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:var(--faint)}\n");
    svg.format(".ground{fill:var(--ground)}.heading{font-size:17px;font-weight:600;fill:var(--ink)}\n");
    svg.format(".title{font-size:13px;font-weight:600;fill:var(--ink)}.legend{fill:var(--ink)}\n");
    svg.format(".grid{stroke:var(--grid);stroke-width:1}.axis{stroke:var(--faint);stroke-width:1}\n");
    svg.format(".line{fill:none;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}\n");
    for (int i = 0; i < Math.min(series, COLOURS.length); i++) {
      svg.format(".c%d{stroke:var(--s%d)}.d%d{fill:var(--s%d)}\n", i, i, i, i);
    }
    svg.format("</style>\n");
  }

  private void panel(Panel panel, int x) {
    double left = x + LEFT;
    double bottom = TOP + PANEL_HEIGHT;
    long smallest = Long.MAX_VALUE;
    long greatest = 1;
    double lowest = Double.MAX_VALUE;
    double highest = 0;
    for (Series series : panel.series()) {
      for (Series.Point point : series.points()) {
        smallest = Math.min(smallest, point.bytes());
        greatest = Math.max(greatest, point.bytes());
        lowest = Math.min(lowest, point.value());
        highest = Math.max(highest, point.value());
      }
    }
    Axis across = Axis.sizes(smallest, greatest, left, left + PANEL_WIDTH);
    Axis up = panel.logarithmic()
        ? Axis.decades(lowest, highest, bottom, TOP)
        : Axis.linear(highest, bottom, TOP);
    svg.format("<text class=\"title\" x=\"%s\" y=\"%d\">%s</text>\n", number(left), TOP - 16, escape(panel.title()));
    for (double mark : up.marks()) {
      String y = number(up.pixel(mark));
      svg.format("<line class=\"grid\" x1=\"%s\" x2=\"%s\" y1=\"%s\" y2=\"%s\"/>\n", number(left),
          number(left + PANEL_WIDTH),
          y, y);
      svg.format("<text x=\"%s\" y=\"%s\" text-anchor=\"end\">%s</text>\n", number(left - 8),
          number(up.pixel(mark) + 4), Axis.label(mark));
    }
    for (double mark : across.marks()) {
      svg.format("<text x=\"%s\" y=\"%s\" text-anchor=\"middle\">%s</text>\n", number(across.pixel(mark)),
          number(bottom + 18), escape(sizeLabel.apply(Math.round(mark))));
    }
    svg.format("<line class=\"axis\" x1=\"%s\" x2=\"%s\" y1=\"%s\" y2=\"%s\"/>\n", number(left),
        number(left + PANEL_WIDTH),
        number(bottom), number(bottom));
    svg.format("<text x=\"%s\" y=\"%s\" text-anchor=\"middle\">bytes of a request</text>\n",
        number(left + PANEL_WIDTH / 2.0),
        number(bottom + 38));
    for (int i = 0; i < panel.series().size(); i++) {
      series(panel.series().get(i), i, panel.unit(), across, up);
    }
  }

  private void series(Series series, int index, String unit, Axis across, Axis up) {
    if (series.points().isEmpty()) {
      return;
    }
    StringBuilder points = new StringBuilder();
    for (Series.Point point : series.points()) {
      points.append(points.isEmpty() ? "" : " ").append(number(across.pixel((double) point.bytes()))).append(',')
          .append(number(up.pixel(point.value())));
    }
    svg.format("<polyline class=\"line c%d\"%s points=\"%s\"/>\n", index % COLOURS.length, dashes(index), points);
    for (Series.Point point : series.points()) {
      svg.format("<circle class=\"d%d\" cx=\"%s\" cy=\"%s\" r=\"3.5\"><title>%s, %s: %s %s</title></circle>\n",
          index % COLOURS.length, number(across.pixel((double) point.bytes())), number(up.pixel(point.value())),
          escape(series.name()), escape(sizeLabel.apply(point.bytes())),
          String.format(Locale.ROOT, "%.3f", point.value()), escape(unit));
    }
  }

  /** Beyond the colours there are, the line is broken differently. */
  private static String dashes(int index) {
    return switch (index / COLOURS.length) {
      case 0 -> "";
      case 1 -> " stroke-dasharray=\"6 4\"";
      default -> " stroke-dasharray=\"2 4\"";
    };
  }

  private void legend(List<Series> series, int top, int column) {
    for (int i = 0; i < series.size(); i++) {
      int x = LEFT + i % 4 * column;
      int y = top + LEGEND_LINE * (i / 4) + 4;
      svg.format("<line class=\"line c%d\"%s x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", i % COLOURS.length,
          dashes(i), x,
          x + 22, y, y);
      svg.format("<text class=\"legend\" x=\"%d\" y=\"%d\">%s</text>\n", x + 30, y + 4, escape(series.get(i).name()));
    }
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, "%.1f", value);
  }

  private static String escape(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;");
  }
}
