/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs.abi;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * The C name of a struct, of a member or of a constant, by which a test compares {@link VerbsAbi} with {@code
 * infiniband/verbs.h}. On a member whose class has a struct's name it is the designator for {@code offsetof}; {@code
 * sizeof} stands for the size of the struct.
 */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.FIELD})
public @interface C {
  /** The name. */
  String value();
}
