/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.agent.config;

/** A setting is wrong; the message names it, its origin and what to write instead. */
public final class ConfigException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final String setting;

  /**
   * An exception about one setting.
   *
   * @param setting its key, or the name of the variable or file that is wrong
   * @param message the whole message
   */
  public ConfigException(String setting, String message) {
    super(message);
    this.setting = setting;
  }

  /** The key of the setting, or the name of the variable or file that is wrong. */
  public String setting() {
    return setting;
  }
}
