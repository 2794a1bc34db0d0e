/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;
import picocli.CommandLine.IVersionProvider;

/** The version that was built. */
final class Version implements IVersionProvider {
  private static final String RESOURCE = "version.properties";

  /** The version alone. */
  static String text() {
    try (InputStream in = Version.class.getResourceAsStream(RESOURCE)) {
      if (in == null) {
        throw new IllegalStateException("the build has left out " + RESOURCE);
      }
      Properties properties = new Properties();
      properties.load(in);
      return properties.getProperty("version");
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + RESOURCE, e);
    }
  }

  @Override
  public String[] getVersion() {
    return new String[] {"hawser " + text(), "JDK " + Runtime.version()};
  }
}
