/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs.abi;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Compares every number of {@link VerbsAbi} with the C headers, by the C compilers of this host. */
@Timeout(60)
class VerbsLayoutTest {
  private static final Path HEADER = Path.of("/usr/include/infiniband/verbs.h");

  /** A number of ours and the C expression that must have the same value. */
  private record Check(String java, String c, long value) {}

  @TempDir
  Path folder;

  @Test
  void everyNumberHasItsNameInC() throws IllegalAccessException {
    assertThat(checks()).hasSizeGreaterThan(200);
  }

  @Test
  void agreesWithTheHeaderOnX86() throws IOException, InterruptedException, IllegalAccessException {
    assumeHeader();
    compile("gcc", "libibverbs-dev and gcc");
  }

  @Test
  void agreesWithTheHeaderOnAarch64() throws IOException, InterruptedException, IllegalAccessException {
    assumeHeader();
    compile("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu");
  }

  @Test
  void aWrongNumberIsFound() throws IOException, InterruptedException {
    assumeHeader();
    String output = output("gcc", List.of(new Check("planted", "offsetof(struct ibv_send_wr, imm_data)", 35)));
    Assumptions.assumeFalse(output == null, "no gcc: apt-get install gcc");
    assertThat(output).contains("planted");
  }

  private static void assumeHeader() {
    Assumptions.assumeTrue(Files.exists(HEADER), "no " + HEADER + ": apt-get install libibverbs-dev");
  }

  private void compile(String compiler, String packages)
      throws IOException, InterruptedException, IllegalAccessException {
    String output = output(compiler, checks());
    Assumptions.assumeFalse(output == null, "no " + compiler + ": apt-get install " + packages);
    assertThat(output).isEmpty();
  }

  /** What the compiler says of assertions; null if there is no such compiler. */
  private @Nullable String output(String compiler, List<Check> checks) throws IOException, InterruptedException {
    if (!onPath(compiler)) {
      return null;
    }
    StringBuilder source = new StringBuilder("#include <infiniband/verbs.h>\n#include <stddef.h>\n");
    for (Check check : checks) {
      source
          .append("_Static_assert((long long)(")
          .append(check.c)
          .append(") == ")
          .append(check.value)
          .append("LL, \"")
          .append(check.java)
          .append("\");\n");
    }
    Path file = Files.writeString(folder.resolve("layout.c"), source);
    // The headers are the same for every architecture; a cross compiler does not look for them in the host's folder.
    Path log = folder.resolve("log");
    Process process =
        new ProcessBuilder(compiler, "-fsyntax-only", "-std=gnu11", "-idirafter", "/usr/include", file.toString())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    assertThat(process.waitFor(40, TimeUnit.SECONDS)).as("%s ends", compiler).isTrue();
    return Files.readString(log);
  }

  private static boolean onPath(String program) {
    return List.of(System.getenv("PATH").split(":")).stream()
        .anyMatch(part -> Files.isExecutable(Path.of(part, program)));
  }

  private static List<Check> checks() throws IllegalAccessException {
    List<Check> checks = new ArrayList<>();
    for (Class<?> type : VerbsAbi.class.getDeclaredClasses()) {
      C struct = type.getAnnotation(C.class);
      for (Field field : type.getDeclaredFields()) {
        if (!Modifier.isStatic(field.getModifiers()) || field.isSynthetic() || field.getName().equals("ROOM")) {
          continue;
        }
        C name = field.getAnnotation(C.class);
        String java = type.getSimpleName() + "." + field.getName();
        assertThat(name).as("the C name of %s", java).isNotNull();
        checks.add(new Check(java, expression(struct, name.value()), field.getInt(null)));
      }
    }
    checks.add(new Check("PortAttr.ROOM", "sizeof(struct ibv_port_attr) <= " + VerbsAbi.PortAttr.ROOM, 1));
    return checks;
  }

  private static String expression(@Nullable C struct, String name) {
    if (struct == null) {
      return name;
    }
    return name.equals("sizeof") ? "sizeof(" + struct.value() + ")" : "offsetof(" + struct.value() + ", " + name + ")";
  }
}
