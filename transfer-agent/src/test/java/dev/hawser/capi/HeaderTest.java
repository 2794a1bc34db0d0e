/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.capi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.hawser.engine.Transfer.RemoteState;
import dev.hawser.engine.TransferEnd;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** include/hawser.h says what the table is. */
class HeaderTest {
  private static String header = "";

  @BeforeAll
  static void read() throws IOException {
    header = Files.readString(Gcc.INCLUDE.resolve("hawser.h"));
  }

  @Test
  void namesTheFunctionsInTheOrderOfTheTable() {
    List<String> declared = new ArrayList<>();
    Matcher function = Pattern.compile("^  int64_t \\(\\*(\\w+)\\)\\(", Pattern.MULTILINE).matcher(header);
    while (function.find()) {
      declared.add(function.group(1));
    }

    assertThat(declared).hasSizeGreaterThan(40).isEqualTo(FunctionTable.make().names());
  }

  @Test
  void declaresAsManyArgumentsAsTheFunctionsTake() {
    List<Integer> declared = new ArrayList<>();
    Matcher function = Pattern.compile("^  int64_t \\(\\*\\w+\\)\\(([^)]*)\\)", Pattern.MULTILINE).matcher(header);
    while (function.find()) {
      String arguments = function.group(1).strip();
      declared.add(arguments.equals("void") ? 0 : (int) arguments.chars().filter(c -> c == ',').count() + 1);
    }

    assertThat(declared).isEqualTo(FunctionTable.make().argumentCounts());
  }

  @Test
  void hasTheNumbersThatAreUsed() {
    Map<String, Integer> expected = new LinkedHashMap<>();
    expected.put("ABI_MAJOR", CApi.ABI_MAJOR);
    expected.put("ABI_MINOR", CApi.ABI_MINOR);
    for (ErrorCode code : ErrorCode.values()) {
      expected.put("ERROR_" + code, code.number());
    }
    for (TransferEnd.Cause cause : TransferEnd.Cause.values()) {
      expected.put("CAUSE_" + cause, Codes.cause(cause));
    }
    for (RemoteState state : RemoteState.values()) {
      expected.put("REMOTE_" + state, Codes.remote(state));
    }
    Map.of("IDLE", Codes.IDLE, "ACTIVE", Codes.ACTIVE, "DONE", Codes.DONE, "FAILED", Codes.FAILED, "CANCELLED",
        Codes.CANCELLED, "INVALID", Codes.INVALID).forEach((name, code) -> expected.put("STATE_" + name, code));

    Map<String, Integer> defined = new LinkedHashMap<>();
    Matcher define = Pattern.compile("^#define HAWSER_(\\w+) (-?\\d+)", Pattern.MULTILINE).matcher(header);
    while (define.find()) {
      defined.put(define.group(1), Integer.parseInt(define.group(2)));
    }
    assertThat(defined).containsAllEntriesOf(expected);
  }

  @Test
  void hasTheStructsAsACompilerLaysThemOut(@TempDir Path folder) throws Exception {
    Gcc.assumePresent();
    StringBuilder source =
        new StringBuilder("#include <stddef.h>\n#include <stdio.h>\n#include \"hawser.h\"\nint main(void) {\n");
    List<String> expected = new ArrayList<>();
    for (Class<?> struct : Structs.class.getDeclaredClasses()) {
      String type = "hawser_" + struct.getSimpleName().toLowerCase(Locale.ROOT);
      for (Field field : struct.getDeclaredFields()) {
        if (!Modifier.isStatic(field.getModifiers()) || field.isSynthetic()) {
          continue;
        }
        field.setAccessible(true);
        boolean whole = field.getName().equals("BYTES");
        String member = field.getName().toLowerCase(Locale.ROOT);
        String value = whole ? "sizeof(" + type + ")" : "offsetof(" + type + ", " + member + ")";
        source.append("  printf(\"").append(type).append('.').append(field.getName()).append(" %zu\\n\", ")
            .append(value).append(");\n");
        expected.add(type + "." + field.getName() + " " + field.getInt(null));
      }
    }
    Path file = folder.resolve("layout.c");
    Files.writeString(file, source.append("  return 0;\n}\n"));

    Gcc.Result result = Gcc.run(List.of(Gcc.compile(file, folder).toString()));

    assertThat(result.rc()).as(result.output()).isZero();
    assertThat(expected).hasSizeGreaterThan(40);
    assertThat(result.output().lines()).containsExactlyElementsOf(expected);
  }
}
