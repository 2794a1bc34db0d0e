/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.net;

import java.io.ByteArrayInputStream;
import java.io.IOException;
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
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManagerFactory;

/**
 * TLS contexts from PEM files. Both sides show a certificate; each must be signed by one of the trusted ones. Names are
 * not compared with addresses: agents are reached by numeric address, and say who they are in the bootstrap.
 */
public final class TlsContexts {
  private static final Pattern KEY =
      Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");
  private static final char[] NO_PASSWORD = new char[0];

  private TlsContexts() {}

  /**
   * Reads the three files.
   *
   * @param certificate our certificate chain
   * @param privateKey its key, PKCS#8, not encrypted
   * @param trust the certificates that peers must be signed by
   * @throws IllegalArgumentException if a file cannot be used; the message names it and says what is expected
   */
  public static SSLContext of(Path certificate, Path privateKey, Path trust) {
    Certificate[] chain = certificates(certificate).toArray(Certificate[]::new);
    PrivateKey key = key(privateKey);
    try {
      KeyStore own = KeyStore.getInstance("PKCS12");
      own.load(null, null);
      own.setKeyEntry("own", key, NO_PASSWORD, chain);
      KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      keys.init(own, NO_PASSWORD);

      KeyStore trusted = KeyStore.getInstance("PKCS12");
      trusted.load(null, null);
      int n = 0;
      for (Certificate each : certificates(trust)) {
        trusted.setCertificateEntry("trusted-" + n++, each);
      }
      TrustManagerFactory trusts = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      trusts.init(trusted);

      SSLContext context = SSLContext.getInstance("TLSv1.3");
      context.init(keys.getKeyManagers(), trusts.getTrustManagers(), null);
      return context;
    } catch (GeneralSecurityException | IOException e) {
      throw new IllegalArgumentException(
          "TLS: " + certificate + " and " + privateKey + " do not belong together: " + e.getMessage(), e);
    }
  }

  /** An engine for one connection: TLS 1.3, certificates on both sides. */
  public static SSLEngine engine(SSLContext context, boolean client) {
    SSLEngine engine = context.createSSLEngine();
    engine.setUseClientMode(client);
    if (!client) {
      engine.setNeedClientAuth(true);
    }
    engine.setEnabledProtocols(new String[] {"TLSv1.3"});
    return engine;
  }

  private static List<Certificate> certificates(Path file) {
    try {
      Collection<? extends Certificate> read =
          CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(bytes(file)));
      if (read.isEmpty()) {
        throw new IllegalArgumentException("TLS: " + file + " has no certificate (PEM expected)");
      }
      return new ArrayList<>(read);
    } catch (GeneralSecurityException e) {
      throw new IllegalArgumentException("TLS: " + file + " is no PEM file of certificates: " + e.getMessage(), e);
    }
  }

  private static PrivateKey key(Path file) {
    Matcher matcher = KEY.matcher(new String(bytes(file), StandardCharsets.ISO_8859_1));
    if (!matcher.find()) {
      throw new IllegalArgumentException(
          "TLS: " + file + " has no unencrypted PKCS#8 key; `openssl pkcs8 -topk8 -nocrypt` makes one");
    }
    PKCS8EncodedKeySpec spec = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(matcher.group(1)));
    for (String algorithm : List.of("EC", "RSA", "EdDSA")) {
      try {
        return KeyFactory.getInstance(algorithm).generatePrivate(spec);
      } catch (InvalidKeySpecException e) {
        // A key of another algorithm.
      } catch (GeneralSecurityException e) {
        throw new IllegalStateException("this JDK lacks " + algorithm, e);
      }
    }
    throw new IllegalArgumentException("TLS: the key in " + file + " is neither EC, RSA nor EdDSA");
  }

  private static byte[] bytes(Path file) {
    try {
      return Files.readAllBytes(file);
    } catch (IOException e) {
      throw new IllegalArgumentException("TLS: " + file + " cannot be read: " + e, e);
    }
  }
}
