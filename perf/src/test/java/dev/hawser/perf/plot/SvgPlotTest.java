/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.plot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

class SvgPlotTest {
  private static final Series RISING = new Series("tcp write <1>", List.of(new Series.Point(4096, 0.5),
      new Series.Point(65536, 2), new Series.Point(1 << 20, 4)));
  private static final Series FLAT = new Series("shm & more", List.of(new Series.Point(4096, 10),
      new Series.Point(1 << 20, 10)));

  private static String draw(Panel... panels) {
    return SvgPlot.draw("A title", List.of(panels), bytes -> bytes + "B");
  }

  private static Document parse(String svg) throws Exception {
    return DocumentBuilderFactory.newInstance().newDocumentBuilder()
        .parse(new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)));
  }

  private static List<Element> all(Document svg, String tag) {
    NodeList nodes = svg.getElementsByTagName(tag);
    List<Element> elements = new ArrayList<>();
    for (int i = 0; i < nodes.getLength(); i++) {
      elements.add((Element) nodes.item(i));
    }
    return elements;
  }

  @Test
  void isWellFormedAndHasEachPoint() throws Exception {
    Document svg = parse(draw(new Panel("Bandwidth", "GB/s", false, List.of(RISING, FLAT)),
        new Panel("Latency", "us", true, List.of(RISING, FLAT))));

    assertThat(svg.getDocumentElement().getTagName()).isEqualTo("svg");
    assertThat(all(svg, "polyline")).hasSize(4);
    assertThat(all(svg, "circle")).hasSize(10);
    assertThat(all(svg, "circle").getFirst().getTextContent()).isEqualTo("tcp write <1>, 4096B: 0.500 GB/s");
    assertThat(all(svg, "text")).extracting(Element::getTextContent)
        .contains("A title", "Bandwidth", "Latency", "tcp write <1>", "shm & more", "4096B");
  }

  @Test
  void greaterIsHigherAndFurtherRight() throws Exception {
    List<Element> marks = all(parse(draw(new Panel("Bandwidth", "GB/s", false, List.of(RISING)))), "circle");

    assertThat(marks).extracting(mark -> Double.parseDouble(mark.getAttribute("cx"))).isSorted();
    assertThat(marks.reversed()).extracting(mark -> Double.parseDouble(mark.getAttribute("cy"))).isSorted();
  }

  @Test
  void everythingLiesInsideTheDrawing() throws Exception {
    Document svg = parse(draw(new Panel("Latency", "us", true, List.of(RISING, FLAT))));
    double width = Double.parseDouble(svg.getDocumentElement().getAttribute("width"));
    double height = Double.parseDouble(svg.getDocumentElement().getAttribute("height"));

    for (Element mark : all(svg, "circle")) {
      assertThat(Double.parseDouble(mark.getAttribute("cx"))).isBetween(0.0, width);
      assertThat(Double.parseDouble(mark.getAttribute("cy"))).isBetween(0.0, height);
    }
  }

  @Test
  void followsTheViewersScheme() {
    assertThat(draw(new Panel("Bandwidth", "GB/s", false, List.of(RISING))))
        .contains("@media (prefers-color-scheme: dark)").doesNotContain("href");
  }

  @Test
  void theSameInputGivesTheSameBytes() {
    Panel panel = new Panel("Bandwidth", "GB/s", false, List.of(RISING, FLAT));

    assertThat(draw(panel)).isEqualTo(draw(panel));
  }

  @Test
  void moreSeriesThanColoursStayApart() {
    List<Series> many = new ArrayList<>();
    for (int i = 0; i < 9; i++) {
      many.add(new Series("s" + i, List.of(new Series.Point(8, i + 1), new Series.Point(64, i + 2))));
    }

    assertThat(draw(new Panel("Bandwidth", "GB/s", false, many))).contains("stroke-dasharray");
  }

  @Test
  void aSinglePointIsDrawn() throws Exception {
    Series one = new Series("one", List.of(new Series.Point(8, 0.0007)));

    assertThat(all(parse(draw(new Panel("Latency", "us", true, List.of(one)))), "circle")).hasSize(1);
    assertThat(all(parse(draw(new Panel("Bandwidth", "GB/s", false, List.of(one)))), "circle")).hasSize(1);
  }

  @Test
  void whatCannotBeDrawnIsRefused() {
    assertThatThrownBy(() -> draw(new Panel("Bandwidth", "GB/s", false, List.of(new Series("none", List.of())))))
        .hasMessageContaining("nothing to draw in the panel 'Bandwidth'");
    for (double value : new double[] {0, -1, Double.NaN, Double.POSITIVE_INFINITY}) {
      Panel panel =
          new Panel("Bandwidth", "GB/s", true, List.of(new Series("bad", List.of(new Series.Point(8, value)))));
      assertThatThrownBy(() -> draw(panel)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("'bad'");
    }
  }

  @Test
  void axesHaveRoundMarks() {
    assertThat(Axis.linear(4.2, 0, 100).marks()).containsExactly(0.0, 1.0, 2.0, 3.0, 4.0, 5.0);
    assertThat(Axis.linear(5, 0, 100).marks()).last().isEqualTo(5.0);
    assertThat(Axis.decades(0.3, 50, 0, 100).marks()).containsExactly(0.1, 1.0, 10.0, 100.0);
    assertThat(Axis.decades(10, 10, 0, 100).marks()).containsExactly(10.0, 100.0);
    assertThat(Axis.sizes(4096, 65536, 0, 100).marks()).containsExactly(4096.0, 8192.0, 16384.0, 32768.0, 65536.0);
    assertThat(Axis.sizes(8, 1L << 30, 0, 100).marks()).hasSizeLessThan(12).first().isEqualTo(8.0);
    assertThat(Axis.decades(1, 100, 0, 100).pixel(10)).isCloseTo(50, within(1e-9));
    assertThat(List.of(Axis.label(0), Axis.label(0.05), Axis.label(2.5), Axis.label(100), Axis.label(10_000)))
        .containsExactly("0", "0.05", "2.5", "100", "10k");
  }
}
