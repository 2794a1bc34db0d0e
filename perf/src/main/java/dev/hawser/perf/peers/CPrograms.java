/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.peers;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Compiles the C programs of {@code perf/peers} when they are first needed, into the user's cache. */
final class CPrograms {
  private static final Duration COMPILE = Duration.ofSeconds(60);
  private static final List<String> OPTIONS = List.of("-O2", "-pthread");
  private static final Map<String, Path> COMPILED = new ConcurrentHashMap<>();

  private CPrograms() {}

  private static Optional<Path> compiler() {
    return Programs.find("gcc").or(() -> Programs.find("clang")).or(() -> Programs.find("cc"));
  }

  static Optional<String> missing() {
    return compiler().isPresent()
        ? Optional.empty()
        : Optional.of("a C compiler is needed: apt install gcc libc6-dev (or dnf install gcc)");
  }

  /** The program compiled from the source of this name. */
  static Path get(String name) {
    return COMPILED.computeIfAbsent(name, CPrograms::compile);
  }

  private static Path compile(String name) {
    Path compiler = compiler()
        .orElseThrow(() -> new PeerException(name + " cannot be compiled: " + missing().orElse("no compiler")));
    byte[] source = source(name);
    Path folder = cache().resolve(digest(source, compiler.toString()));
    Path program = folder.resolve(name);
    if (Files.isExecutable(program)) {
      return program;
    }
    try {
      Files.createDirectories(folder);
      Path file = Files.write(folder.resolve(name + ".c"), source);
      // Under another name first, so that nobody runs half of it.
      Path fresh = folder.resolve(name + "." + ProcessHandle.current().pid());
      List<String> command = new java.util.ArrayList<>(List.of(compiler.toString()));
      command.addAll(OPTIONS);
      command.addAll(List.of("-o", fresh.toString(), file.toString()));
      Programs.run(command, COMPILE);
      return Files.move(fresh, program, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new PeerException("cannot compile " + name + " into " + folder + ": " + e.getMessage()
          + "; set XDG_CACHE_HOME to a folder that can be written", e);
    }
  }

  private static byte[] source(String name) {
    try (InputStream in = CPrograms.class.getResourceAsStream(name + ".c")) {
      if (in == null) {
        throw new PeerException("the build has left out " + name + ".c");
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new PeerException("cannot read " + name + ".c: " + e.getMessage(), e);
    }
  }

  private static Path cache() {
    String home = System.getenv("XDG_CACHE_HOME");
    Path base =
        home == null || home.isEmpty() ? Path.of(System.getProperty("user.home"), ".cache") : Path.of(home);
    return base.resolve("hawser").resolve("peers");
  }

  private static String digest(byte[] source, String compiler) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(source);
      digest.update((compiler + OPTIONS).getBytes(java.nio.charset.StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest.digest(), 0, 8);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}
