/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.http;

import dev.hawser.engine.TlsConfig;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** TLS sockets from PEM files: whom to trust, and the certificate to show. */
public final class TlsSockets {
  private static final char[] NO_PASSWORD = {};
  private static final List<String> ALGORITHMS = List.of("RSA", "EC", "Ed25519", "Ed448");

  private TlsSockets() {}

  /**
   * Makes TLS sockets.
   *
   * @return null if nothing is configured: the platform's trust, and no certificate
   * @throws IllegalArgumentException if a file cannot be used; it names the file
   */
  public static @Nullable SSLSocketFactory factory(TlsConfig config) {
    Path trust = config.trust();
    Path certificate = config.certificate();
    Path key = config.privateKey();
    if (trust == null && certificate == null) {
      return null;
    }
    try {
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(certificate == null || key == null ? null : shown(certificate, key),
          trust == null ? null : trusted(trust),
          null);
      return context.getSocketFactory();
    } catch (IOException | GeneralSecurityException e) {
      throw new IllegalArgumentException("tls: the PEM files cannot be used: " + e.getMessage(), e);
    }
  }

  private static TrustManager[] trusted(Path pem) throws IOException, GeneralSecurityException {
    KeyStore store = emptyStore();
    int count = 0;
    for (Certificate certificate : certificates(pem)) {
      store.setCertificateEntry("trusted-" + count, certificate);
      count++;
    }
    TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    return factory.getTrustManagers();
  }

  private static KeyManager[] shown(Path pem, Path keyPem) throws IOException, GeneralSecurityException {
    KeyStore store = emptyStore();
    store.setKeyEntry("own", key(keyPem), NO_PASSWORD, certificates(pem).toArray(Certificate[]::new));
    KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(store, NO_PASSWORD);
    return factory.getKeyManagers();
  }

  private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    return store;
  }

  private static Collection<? extends Certificate> certificates(Path pem) throws IOException, GeneralSecurityException {
    try (InputStream in = Files.newInputStream(pem)) {
      Collection<? extends Certificate> found = CertificateFactory.getInstance("X.509").generateCertificates(in);
      if (found.isEmpty()) {
        throw new GeneralSecurityException(pem + " holds no certificate");
      }
      return found;
    }
  }

  private static PrivateKey key(Path pem) throws IOException, GeneralSecurityException {
    String text = Files.readString(pem, StandardCharsets.US_ASCII);
    String begin = "-----BEGIN PRIVATE KEY-----";
    int start = text.indexOf(begin);
    int end = text.indexOf("-----END PRIVATE KEY-----");
    if (start < 0 || end < start) {
      throw new GeneralSecurityException(
          pem + " holds no PKCS#8 private key; make one with 'openssl pkcs8 -topk8 -nocrypt'");
    }
    byte[] encoded;
    try {
      encoded = Base64.getMimeDecoder().decode(text.substring(start + begin.length(), end));
    } catch (IllegalArgumentException e) {
      throw new GeneralSecurityException(pem + " is damaged: " + e.getMessage(), e);
    }
    InvalidKeySpecException last = null;
    for (String algorithm : ALGORITHMS) {
      try {
        return KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(encoded));
      } catch (InvalidKeySpecException e) {
        last = e;
      }
    }
    throw new GeneralSecurityException(pem + " holds a key that is none of " + ALGORITHMS, last);
  }
}
