/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata;

import dev.hawser.metadata.auth.Authentication;
import dev.hawser.metadata.auth.TokenFileException;
import dev.hawser.metadata.auth.Tokens;
import java.net.BindException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.ExecutionException;

/** Checks, before anything starts, that a configuration may listen where it wants to; explains it when it cannot. */
final class Listener {
  private static final System.Logger LOG = System.getLogger(Listener.class.getName());

  private Listener() {}

  /**
   * Who may come in.
   *
   * @throws MetadataException when that would be everyone, from other machines too, and nobody said so
   */
  static Authentication admission(MetadataConfig config) {
    config.tls().ifPresent(Listener::checkFiles);
    boolean certificates = config.tls().map(tls -> tls.clientAuthorities().isPresent()).orElse(false);
    boolean remote = !isLoopback(config);
    if (config.tokens().isEmpty() && !certificates) {
      if (remote && !config.allowAnonymous()) {
        throw new MetadataException(
            "The metadata service does not listen on " + config.host()
                + " without authentication: give a file of tokens (--tokens) or client certificates"
                + " (--tls-client-ca), or say that anyone may do anything (--allow-anonymous)",
            null);
      }
      return Authentication.none();
    }
    if (remote && config.tls().isEmpty()) {
      LOG.log(
          System.Logger.Level.WARNING,
          "Tokens travel to {0} in the clear; give the service a certificate (--tls-cert, --tls-key)",
          config.host());
    }
    return Authentication.required(config.tokens().map(Listener::load).orElse(null));
  }

  private static Tokens load(Path file) {
    try {
      return Tokens.load(file);
    } catch (TokenFileException unusable) {
      throw new MetadataException(String.valueOf(unusable.getMessage()), unusable);
    }
  }

  private static void checkFiles(TlsConfig tls) {
    checkFile("certificate", tls.certificate());
    checkFile("private key", tls.key());
    tls.clientAuthorities().ifPresent(file -> checkFile("file of client authorities", file));
    KeyPairFiles.check(tls.certificate(), tls.key());
  }

  private static void checkFile(String what, Path file) {
    if (!Files.isReadable(file) || Files.isDirectory(file)) {
      throw new MetadataException("The " + what + " " + file + " cannot be read; give the path of a PEM file", null);
    }
  }

  private static boolean isLoopback(MetadataConfig config) {
    try {
      for (InetAddress address : InetAddress.getAllByName(config.host())) {
        if (!address.isLoopbackAddress()) {
          return false;
        }
      }
      return true;
    } catch (UnknownHostException unknown) {
      throw new MetadataException(
          "The metadata service cannot listen on " + config.host() + ":" + config.port()
              + ": the host name is unknown; give a name or an address of this machine",
          unknown);
    }
  }

  /** Why it could not listen, on one line. */
  static MetadataException cannotListen(MetadataConfig config, Exception failed) {
    Throwable cause = failed instanceof ExecutionException && failed.getCause() != null ? failed.getCause() : failed;
    String where = config.host() + ":" + config.port();
    String why =
        switch (cause) {
          case BindException taken when String.valueOf(taken.getMessage()).contains("in use") ->
            "the port is in use; stop the process that has it, or take another port (0 takes a free one)";
          case BindException refused ->
            refused.getMessage() + "; give an address of this machine and a port that this user may listen on";
          default ->
            config.tls().isPresent()
                ? cause + "; check that certificate and key are PEM and belong together"
                : cause + "; give an address of this machine and a port that this user may listen on";
        };
    return new MetadataException("The metadata service cannot listen on " + where + ": " + why, cause);
  }
}
