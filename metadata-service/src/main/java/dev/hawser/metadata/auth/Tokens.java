/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.auth;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Tokens and what their bearers may do. Only digests are kept, and a token is looked up by its digest, so that the time
 * of a look-up says nothing about a token.
 *
 * <p>The file has one token on a line: {@code ROLE NAMES TOKEN}, where NAMES are patterns separated by commas and TOKEN
 * is {@code sha256:} and 64 hexadecimal digits, or the token itself. Empty lines and those that begin with {@code #} are
 * passed over. Immutable.
 */
public final class Tokens {
  private static final Pattern SPACES = Pattern.compile("\\s+");
  private static final Pattern NAMES = Pattern.compile("[A-Za-z0-9._:@*-]{1,128}(,[A-Za-z0-9._:@*-]{1,128})*");
  private static final Pattern DIGEST = Pattern.compile("sha256:[0-9a-f]{64}");

  /** Below this a token can be guessed. */
  private static final int MIN_TOKEN = 16;

  private final Map<String, Caller> byDigest;

  private Tokens(Map<String, Caller> byDigest) {
    this.byDigest = byDigest;
  }

  /**
   * Reads a file.
   *
   * @throws TokenFileException when it cannot be read, when a line is wrong, and when it has no token
   */
  public static Tokens load(Path file) {
    List<String> lines;
    try {
      lines = Files.readAllLines(file, StandardCharsets.UTF_8);
    } catch (NoSuchFileException missing) {
      throw new TokenFileException("The file of tokens " + file + " does not exist; give the path of one", missing);
    } catch (CharacterCodingException binary) {
      throw new TokenFileException("The file of tokens " + file + " is not UTF-8 text; give the path of one", binary);
    } catch (IOException failed) {
      throw new TokenFileException("The file of tokens " + file + " cannot be read: " + failed, failed);
    }
    Map<String, Caller> byDigest = new HashMap<>();
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i).strip();
      if (!line.isEmpty() && !line.startsWith("#")) {
        add(byDigest, file + ", line " + (i + 1), line);
      }
    }
    if (byDigest.isEmpty()) {
      throw new TokenFileException(
          "The file of tokens " + file + " has no token; write lines of ROLE NAMES TOKEN", null);
    }
    return new Tokens(byDigest);
  }

  private static void add(Map<String, Caller> byDigest, String where, String line) {
    String[] words = SPACES.split(line, -1);
    if (words.length != 3) {
      throw new TokenFileException(where + ": has " + words.length + " words; write ROLE NAMES TOKEN", null);
    }
    String token = words[2];
    if (!NAMES.matcher(words[1]).matches()) {
      throw new TokenFileException(
          where + ": the names are not patterns; write names with * for any characters, separated by commas", null);
    }
    if (token.startsWith("sha256:") ? !DIGEST.matcher(token).matches() : token.length() < MIN_TOKEN) {
      throw new TokenFileException(
          where + ": the token is neither sha256: with 64 hexadecimal digits in lower case nor a text of at least "
              + MIN_TOKEN + " characters",
          null);
    }
    String digest = token.startsWith("sha256:") ? token.substring("sha256:".length()) : digest(token);
    Caller caller =
        new Caller("token:" + digest.substring(0, 8), role(where, words[0]), List.of(words[1].split(",", -1)));
    if (byDigest.put(digest, caller) != null) {
      throw new TokenFileException(where + ": the same token stands above; give each line its own", null);
    }
  }

  private static Role role(String where, String text) {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "read" -> Role.READ;
      case "publish" -> Role.PUBLISH;
      case "admin" -> Role.ADMIN;
      default -> throw new TokenFileException(where + ": the role is none of read, publish, admin", null);
    };
  }

  /** Whose token it is, or null. */
  @Nullable
  Caller callerOf(String token) {
    return byDigest.get(digest(token));
  }

  static String digest(String token) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every JDK has SHA-256", impossible);
    }
  }
}
