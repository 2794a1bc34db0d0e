/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A copy of the launcher beside the built jars: its archive of classes, which is for speed only, and no home. */
@Timeout(value = 3, unit = TimeUnit.MINUTES)
class LauncherIT {
  private static final Path PERF = Path.of("").toAbsolutePath();

  @TempDir
  private Path home;

  private Path target;
  private Path archive;

  private record Ended(int code, String out, String err) {}

  @BeforeEach
  void layOut() throws IOException {
    Optional<Path> built = jar();
    Path lib = PERF.resolve("target/lib");
    assumeTrue(built.isPresent() && Files.isDirectory(lib),
        "the jars are not packaged: Maven runs this behind package");
    Path jar = built.orElseThrow();
    target = Files.createDirectories(home.resolve("perf/target"));
    archive = target.resolve("hawser.jsa");
    Files.copy(PERF.resolveSibling("hawser"), home.resolve("hawser"));
    assertThat(home.resolve("hawser").toFile().setExecutable(true)).isTrue();
    Path config = Files.createDirectories(home.resolve("perf/src/main/config"));
    Files.copy(PERF.resolve("src/main/config/logging.properties"), config.resolve("logging.properties"));
    Files.createSymbolicLink(target.resolve("lib"), lib);
    Files.createSymbolicLink(target.resolve(jar.getFileName()), jar);
    builtWith(System.getProperty("java.home"));
  }

  private static Optional<Path> jar() throws IOException {
    try (Stream<Path> files = Files.list(PERF.resolve("target"))) {
      return files.filter(file -> file.getFileName().toString().matches("hawser-perf-[^-]*(-SNAPSHOT)?\\.jar"))
          .findFirst();
    }
  }

  /** What the launcher notes of its build. */
  private void builtWith(String jdk) throws IOException {
    Files.writeString(target.resolve("hawser.built"), jdk + "\n");
  }

  private Ended run(Consumer<Set<String>> environment) {
    try {
      Path err = home.resolve("err");
      ProcessBuilder builder =
          new ProcessBuilder(home.resolve("hawser").toString(), "--version").redirectError(err.toFile());
      builder.environment().keySet().removeAll(Set.of("JAVA_HOME", "HAWSER_JAVA_HOME", "HAWSER_JAVA_OPTS"));
      environment.accept(builder.environment().keySet());
      Process process = builder.start();
      try {
        process.getOutputStream().close();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
        return new Ended(process.exitValue(), out, Files.readString(err));
      } finally {
        process.destroyForcibly();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private void assertRuns(String what) {
    Ended ended = run(_ -> {});
    assertThat(ended.err()).as(what).isEmpty();
    assertThat(ended.out()).as(what).startsWith("hawser ");
    assertThat(ended.code()).as(what).isZero();
  }

  @Test
  void theArchiveIsMadeOnceAndWhatIsLeftOfADamagedOneIsNoHindrance() throws IOException {
    assertRuns("the first time");
    assertThat(archive).isRegularFile();
    byte[] good = Files.readAllBytes(archive);
    assertRuns("the second time");
    assertThat(archive).as("it is used").hasBinaryContent(good);

    byte[] changed = good.clone();
    Arrays.fill(changed, good.length / 2, good.length / 2 + 4096, (byte) 0x5a);
    for (byte[] damaged : List.of(new byte[0], new byte[4096], Arrays.copyOf(good, 64),
        Arrays.copyOf(good, good.length / 2),
        changed, "no archive".getBytes(StandardCharsets.UTF_8))) {
      Files.write(archive, damaged);
      assertRuns(damaged.length + " bytes of " + good.length);
    }
  }

  @Test
  void anArchiveThatCannotBeWrittenIsDoneWithout() throws IOException {
    Files.createDirectory(archive);
    assertRuns("a folder has its place");
    assertThat(archive).isEmptyDirectory();
    Files.delete(archive);

    // Whoever may write everywhere writes it nevertheless.
    assertThat(target.toFile().setWritable(false, false)).isTrue();
    try {
      assertRuns("its folder is read-only");
      assertThat(Files.exists(archive)).isEqualTo(Files.isWritable(target));
    } finally {
      assertThat(target.toFile().setWritable(true)).isTrue();
    }
  }

  /** The JDK of the build is gone, so it is looked for again, in the home as well. */
  @Test
  void withoutAHomeItStarts() throws IOException {
    builtWith("/no/such/jdk");
    Ended ended = run(names -> names.removeAll(Set.of("HOME", "MAVEN_CONFIG")));

    assertThat(ended.err()).doesNotContain("unbound variable");
    if (ended.code() == 0) {
      assertThat(ended.out()).startsWith("hawser ");
      assertThat(ended.err()).isEmpty();
    } else {
      assertThat(ended.err().lines()).singleElement().asString()
          .startsWith("hawser: error: a JDK 25 or newer is needed");
    }
  }
}
