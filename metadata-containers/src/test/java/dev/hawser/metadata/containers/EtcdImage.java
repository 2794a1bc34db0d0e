/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.containers;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.testcontainers.images.builder.ImageFromDockerfile;

/** An image of the etcd that is on the path, with the libraries that it is linked with: nothing is pulled. */
final class EtcdImage {
  static final String HOW_TO_ENABLE =
      "no etcd on the path to make an image of: apt-get install etcd-server enables this test";

  private static final Pattern LIBRARY = Pattern.compile("(/\\S+\\.so\\S*)");

  private EtcdImage() {}

  static Optional<Path> binary() {
    return Stream.of(System.getenv("PATH").split(":", -1))
        .map(entry -> Path.of(entry, "etcd"))
        .filter(Files::isExecutable)
        .findFirst();
  }

  /** What makes it. */
  static ImageFromDockerfile image() throws IOException, InterruptedException {
    Path etcd = binary().orElseThrow().toRealPath();
    ImageFromDockerfile image =
        new ImageFromDockerfile("hawser-test/etcd", true)
            .withFileFromString("Dockerfile", "FROM scratch\nCOPY root/ /\n")
            .withFileFromPath("root/usr/bin/etcd", etcd);
    for (String library : libraries(etcd)) {
      image.withFileFromPath("root" + library, Path.of(library).toRealPath());
    }
    return image;
  }

  private static Set<String> libraries(Path binary) throws IOException, InterruptedException {
    Process ldd = new ProcessBuilder("ldd", binary.toString()).redirectErrorStream(true).start();
    String output = new String(ldd.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (!ldd.waitFor(20, TimeUnit.SECONDS)) {
      throw new IOException("ldd does not end");
    }
    Set<String> libraries = new TreeSet<>();
    Matcher matcher = LIBRARY.matcher(output);
    while (matcher.find()) {
      libraries.add(matcher.group(1));
    }
    return libraries;
  }
}
