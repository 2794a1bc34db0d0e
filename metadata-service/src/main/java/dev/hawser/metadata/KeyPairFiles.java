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
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Whether a certificate and a private key belong together. TLS would find out with the first client only, and while both
 * are being replaced, one after the other, they do not.
 */
final class KeyPairFiles {
  private static final Pattern KEY =
      Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");

  private static final byte[] SAMPLE = "hawser".getBytes(StandardCharsets.US_ASCII);

  private KeyPairFiles() {}

  /**
   * Checks them.
   *
   * @throws MetadataException when one is not what it should be, or they do not belong together
   */
  static void check(Path certificate, Path key) {
    PublicKey shown;
    try (InputStream in = Files.newInputStream(certificate)) {
      shown = CertificateFactory.getInstance("X.509").generateCertificate(in).getPublicKey();
    } catch (IOException | GeneralSecurityException unusable) {
      throw new MetadataException("The certificate " + certificate
          + " cannot be used; give a PEM file with the service's own certificate first (" + unusable + ")", unusable);
    }
    PrivateKey secret = read(key, shown.getAlgorithm());
    try {
      Signature signature = Signature.getInstance(algorithm(shown.getAlgorithm()));
      signature.initSign(secret);
      signature.update(SAMPLE);
      byte[] signed = signature.sign();
      signature.initVerify(shown);
      signature.update(SAMPLE);
      if (signature.verify(signed)) {
        return;
      }
    } catch (GeneralSecurityException unusable) {
      throw new MetadataException("The certificate " + certificate + " and the private key " + key
          + " cannot be used together: " + unusable.getMessage(), unusable);
    }
    throw new MetadataException("The certificate " + certificate + " and the private key " + key
        + " do not belong together; give the key that the certificate was made for", null);
  }

  private static PrivateKey read(Path file, String algorithm) {
    try {
      Matcher pem = KEY.matcher(Files.readString(file, StandardCharsets.US_ASCII));
      if (!pem.find()) {
        throw new MetadataException("The private key " + file
            + " is not PKCS #8 in PEM (BEGIN PRIVATE KEY); convert it: openssl pkcs8 -topk8 -nocrypt", null);
      }
      return KeyFactory.getInstance(algorithm)
          .generatePrivate(new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(pem.group(1))));
    } catch (IOException | GeneralSecurityException | IllegalArgumentException unusable) {
      throw new MetadataException("The private key " + file + " cannot be used with a certificate for " + algorithm
          + "; give the key that the certificate was made for (" + unusable.getMessage() + ")", unusable);
    }
  }

  private static String algorithm(String key) {
    return switch (key) {
      case "EC" -> "SHA256withECDSA";
      case "RSA" -> "SHA256withRSA";
      default -> key;
    };
  }
}
