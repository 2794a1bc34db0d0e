/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.auth;

import java.security.cert.Certificate;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import javax.naming.InvalidNameException;
import javax.naming.ldap.LdapName;
import javax.naming.ldap.Rdn;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/**
 * Finds out who asks: by a bearer token, else by the certificate of the connection, else nobody. Safe for use by any
 * thread.
 */
public final class Authentication {
  private static final System.Logger LOG = System.getLogger(Authentication.class.getName());

  /** The kind of subject alternative name that is a DNS name (RFC 5280, 4.2.1.6). */
  private static final int DNS_NAME = 2;

  private final boolean required;
  private final AtomicReference<@Nullable Tokens> tokens;

  private Authentication(boolean required, @Nullable Tokens tokens) {
    this.required = required;
    this.tokens = new AtomicReference<>(tokens);
  }

  /** Everyone may do everything. */
  public static Authentication none() {
    return new Authentication(false, null);
  }

  /**
   * Callers need a token, or a client certificate that the TLS layer has accepted.
   *
   * @param tokens null where only certificates count
   */
  public static Authentication required(@Nullable Tokens tokens) {
    return new Authentication(true, tokens);
  }

  /** From now on these tokens count. */
  public void replace(Tokens changed) {
    tokens.set(changed);
  }

  public boolean isRequired() {
    return required;
  }

  /**
   * Who asks, or null for nobody that is known.
   *
   * @param authorization the header of this name
   * @param session of TLS
   */
  public @Nullable Caller callerOf(@Nullable String authorization, @Nullable SSLSession session) {
    if (!required) {
      return Caller.ANYONE;
    }
    Tokens known = tokens.get();
    if (authorization != null) {
      // A wrong token is no reason to fall back on a certificate: its sender believes in the token.
      return known != null && authorization.regionMatches(true, 0, "Bearer ", 0, 7)
          ? known.callerOf(authorization.substring(7).strip())
          : null;
    }
    return session == null ? null : holderOf(session);
  }

  /** Owns the names that its certificate gives it: common name and DNS names. */
  private static @Nullable Caller holderOf(SSLSession session) {
    try {
      Certificate[] chain = session.getPeerCertificates();
      if (chain.length == 0 || !(chain[0] instanceof X509Certificate certificate)) {
        return null;
      }
      List<String> names = new ArrayList<>();
      for (Rdn part : new LdapName(certificate.getSubjectX500Principal().getName()).getRdns()) {
        if (part.getType().equalsIgnoreCase("CN")) {
          names.add(part.getValue().toString());
        }
      }
      Collection<List<?>> alternatives = certificate.getSubjectAlternativeNames();
      if (alternatives != null) {
        for (List<?> alternative : alternatives) {
          if (Integer.valueOf(DNS_NAME).equals(alternative.get(0))) {
            names.add(String.valueOf(alternative.get(1)));
          }
        }
      }
      // A star in a certificate is a host's, not a pattern of agents.
      names.removeIf(name -> name.contains("*"));
      return new Caller("certificate:" + certificate.getSubjectX500Principal().getName(), Role.PUBLISH, names);
    } catch (SSLPeerUnverifiedException none) {
      return null;
    } catch (CertificateParsingException | InvalidNameException odd) {
      LOG.log(System.Logger.Level.WARNING, "A client certificate's names cannot be read; its holder stays out", odd);
      return null;
    }
  }
}
