/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** A key and a certificate that vouches for itself, made by the JDK's keytool. */
final class TestCertificates {
  private static final char[] PASSWORD = "changeit".toCharArray();
  private static final String ALIAS = "it";

  private final KeyStore store;
  private final Path certificate;
  private final Path key;

  private TestCertificates(KeyStore store, Path certificate, Path key) {
    this.store = store;
    this.certificate = certificate;
    this.key = key;
  }

  static TestCertificates make(Path folder, String commonName, String... alternatives)
      throws IOException, GeneralSecurityException, InterruptedException {
    Path file = folder.resolve(commonName + ".p12");
    Process keytool =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
            "-genkeypair",
            "-keyalg",
            "EC",
            "-dname",
            "CN=" + commonName,
            "-ext",
            "san=" + String.join(",", alternatives),
            "-validity",
            "2",
            "-alias",
            ALIAS,
            "-storetype",
            "PKCS12",
            "-keystore",
            file.toString(),
            "-storepass",
            new String(PASSWORD))
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve(commonName + ".log").toFile())
            .start();
    if (!keytool.waitFor(60, TimeUnit.SECONDS) || keytool.exitValue() != 0) {
      throw new IOException(Files.readString(folder.resolve(commonName + ".log")));
    }
    KeyStore store = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(file)) {
      store.load(in, PASSWORD);
    }
    return new TestCertificates(
        store,
        pem(folder.resolve(commonName + ".crt"), "CERTIFICATE", store.getCertificate(ALIAS).getEncoded()),
        pem(folder.resolve(commonName + ".key"), "PRIVATE KEY", store.getKey(ALIAS, PASSWORD).getEncoded()));
  }

  Path certificate() {
    return certificate;
  }

  Path key() {
    return key;
  }

  /** Trusts the one, and shows the other if there is one. */
  static SSLContext context(TestCertificates trusted, @Nullable TestCertificates shown)
      throws IOException, GeneralSecurityException {
    KeyStore trust = KeyStore.getInstance("PKCS12");
    trust.load(null, null);
    trust.setCertificateEntry("server", trusted.store.getCertificate(ALIAS));
    TrustManagerFactory trusts = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trusts.init(trust);
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    if (shown != null) {
      keys.init(shown.store, PASSWORD);
    }
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(shown == null ? null : keys.getKeyManagers(), trusts.getTrustManagers(), null);
    return context;
  }

  private static Path pem(Path file, String kind, byte[] der) throws IOException {
    return Files.write(
        file,
        List.of(
            "-----BEGIN " + kind + "-----",
            Base64.getMimeEncoder(64, "\n".getBytes(StandardCharsets.US_ASCII)).encodeToString(der),
            "-----END " + kind + "-----"));
  }
}
