/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import io.vertx.core.http.HttpHeaders;

/** Headers and media types of the API. */
final class Names {
  static final CharSequence NAME = HttpHeaders.createOptimized("Hawser-Name");
  static final CharSequence EPOCH = HttpHeaders.createOptimized("Hawser-Epoch");
  static final CharSequence TTL_MILLIS = HttpHeaders.createOptimized("Hawser-Ttl-Millis");
  static final CharSequence EXPIRES_IN_MILLIS = HttpHeaders.createOptimized("Hawser-Expires-In-Millis");
  static final CharSequence ADDRESS = HttpHeaders.createOptimized("Hawser-Address");
  static final CharSequence LABELS = HttpHeaders.createOptimized("Hawser-Labels");
  static final CharSequence SUMMARY = HttpHeaders.createOptimized("Hawser-Summary");
  static final CharSequence EXPECT_EPOCH = HttpHeaders.createOptimized("Hawser-Expect-Epoch");
  static final CharSequence BLOB_OFFSET = HttpHeaders.createOptimized("Hawser-Blob-Offset");
  static final CharSequence BLOB_KNOWN = HttpHeaders.createOptimized("Hawser-Blob-Known");
  static final CharSequence REVISION = HttpHeaders.createOptimized("Hawser-Revision");
  static final CharSequence REPLACED_EPOCH = HttpHeaders.createOptimized("Hawser-Replaced-Epoch");
  static final CharSequence NEXT_AFTER = HttpHeaders.createOptimized("Hawser-Next-After");
  static final CharSequence PROBLEM = HttpHeaders.createOptimized("Hawser-Problem");
  static final CharSequence DETAIL = HttpHeaders.createOptimized("Hawser-Detail");
  static final CharSequence RECORDED_EPOCH = HttpHeaders.createOptimized("Hawser-Recorded-Epoch");
  static final CharSequence RECORDED_ADDRESS = HttpHeaders.createOptimized("Hawser-Recorded-Address");
  static final CharSequence MISSING_RANKS = HttpHeaders.createOptimized("Hawser-Missing-Ranks");
  static final CharSequence REQUEST_ID = HttpHeaders.createOptimized("Hawser-Request-Id");

  static final String BINARY = "application/octet-stream";
  static final String JSON = "application/json";
  static final String TEXT = "text/plain";
  static final String EVENTS = "text/event-stream";
  static final String PROBLEM_JSON = "application/problem+json";

  private Names() {}
}
