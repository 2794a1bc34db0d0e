/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The C program of examples/c, compiled and run as its comment says. */
class ExampleProgramTest {
  @Test
  void transfersBetweenTwoAgents(@TempDir Path folder) {
    Gcc.assumePresent();
    Path program = Gcc.compile(Path.of("..", "examples", "c", "transfer.c"), folder);
    String classPath = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
        .map(entry -> Path.of(entry).toAbsolutePath().toString()).filter(entry -> !entry.contains("test-classes"))
        .collect(Collectors.joining(File.pathSeparator));

    Gcc.Result result = Gcc.run(List.of(program.toString(), System.getProperty("java.home"), classPath));

    assertThat(result.rc()).as(result.output()).isZero();
    assertThat(result.output()).contains("4194304 bytes", "verified", "remoteIndices[1023]: 1024 is out of bounds");
  }

  @Test
  void saysInOneLineThatAJarIsMissing(@TempDir Path folder) {
    Gcc.assumePresent();
    Path program = Gcc.compile(Path.of("..", "examples", "c", "transfer.c"), folder);
    String java = System.getProperty("java.home");

    Gcc.Result none = Gcc.run(List.of(program.toString(), java, folder.toString()));
    assertThat(none.rc()).isEqualTo(1);
    assertThat(none.output().lines()).singleElement().asString()
        .contains("NoClassDefFoundError: dev/hawser/capi/CApi", "are all of Hawser's jars in the class path " + folder);

    String alone = Path.of("target", "classes").toAbsolutePath().toString();
    Gcc.Result some = Gcc.run(List.of(program.toString(), java, alone));
    assertThat(some.rc()).isEqualTo(1);
    assertThat(some.output().lines()).singleElement().asString().contains("NoClassDefFoundError",
        "class path " + alone);
  }

  @Test
  void saysWhatIsMissingWhereThereIsNoJdk(@TempDir Path folder) {
    Gcc.assumePresent();
    Path program = Gcc.compile(Path.of("..", "examples", "c", "transfer.c"), folder);

    Gcc.Result result = Gcc.run(List.of(program.toString(), folder.toString(), ""));

    assertThat(result.rc()).isEqualTo(1);
    assertThat(result.output()).contains("libjvm.so cannot be loaded", "give the folder of a JDK 25");
  }
}
