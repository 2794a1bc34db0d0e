/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.testkit;

import dev.hawser.engine.TlsConfig;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Certificates for one test run, made by the JDK's own keytool: none is kept in the sources. */
public final class TestCertificates {
  private static final String PASSWORD = "changeit";

  private TestCertificates() {}

  /**
   * A self-signed certificate, its key, and itself as what is trusted, as PEM files in {@code folder}.
   *
   * @param alternatives further names of its holder, as keytool takes them: {@code ip:127.0.0.1}, {@code dns:host}
   */
  public static TlsConfig selfSigned(Path folder, String name, String... alternatives) {
    try {
      Path store = folder.resolve(name + ".p12");
      List<String> arguments = new ArrayList<>(
          List.of(
              "-genkeypair", "-alias", name, "-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=" + name,
              "-validity", "2", "-keystore", store.toString(), "-storetype", "PKCS12", "-storepass", PASSWORD));
      if (alternatives.length > 0) {
        arguments.addAll(List.of("-ext", "san=" + String.join(",", alternatives)));
      }
      run(arguments.toArray(String[]::new));
      KeyStore keys = KeyStore.getInstance("PKCS12");
      try (InputStream in = Files.newInputStream(store)) {
        keys.load(in, PASSWORD.toCharArray());
      }
      Path certificate = folder.resolve(name + "-certificate.pem");
      Path key = folder.resolve(name + "-key.pem");
      Files.writeString(certificate, pem("CERTIFICATE", keys.getCertificate(name).getEncoded()));
      Files.writeString(key, pem("PRIVATE KEY", keys.getKey(name, PASSWORD.toCharArray()).getEncoded()));
      return new TlsConfig(certificate, key, certificate);
    } catch (IOException | GeneralSecurityException e) {
      throw new IllegalStateException("no certificate could be made for " + name, e);
    }
  }

  private static String pem(String what, byte[] der) {
    String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
    return "-----BEGIN " + what + "-----\n" + body + "\n-----END " + what + "-----\n";
  }

  private static void run(String... arguments) throws IOException {
    Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
    String[] command = new String[arguments.length + 1];
    command[0] = keytool.toString();
    System.arraycopy(arguments, 0, command, 1, arguments.length);
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try {
      if (!process.waitFor(60, TimeUnit.SECONDS)) {
        process.destroyForcibly();
        throw new IOException("keytool did not end in a minute");
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while keytool ran", e);
    }
    if (process.exitValue() != 0) {
      throw new IOException("keytool: " + new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
    }
  }
}
