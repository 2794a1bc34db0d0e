/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.metadata.http;

import dev.hawser.metadata.store.Join;
import java.util.Map;
import java.util.OptionalLong;

/**
 * An error as the client sees it (RFC 9457).
 *
 * @param status of HTTP
 * @param slug the last part of its type
 * @param title the same for every problem of this type
 * @param detail what happened, to what, and what to do
 * @param recordedEpoch the incarnation that stands in the way; 0 when the way is barred by there being none
 * @param recordedAddress its control address, or empty
 * @param headers more headers of the answer
 */
record Problem(
    int status,
    String slug,
    String title,
    String detail,
    OptionalLong recordedEpoch,
    String recordedAddress,
    Map<String, String> headers) {

  static final String TYPE_PREFIX = "urn:hawser:problem:";

  private static Problem of(int status, String slug, String title, String detail) {
    return new Problem(status, slug, title, detail, OptionalLong.empty(), "", Map.of());
  }

  private Problem with(String header, String value) {
    return new Problem(status, slug, title, detail, recordedEpoch, recordedAddress, Map.of(header, value));
  }

  ProblemException exception() {
    return new ProblemException(this);
  }

  static Problem badRequest(String detail) {
    return of(400, "bad-request", "A field is missing or out of its limits", detail);
  }

  static Problem unauthenticated() {
    return of(
        401,
        "unauthenticated",
        "The caller is not known",
        "The request has no token or certificate that is known here; send Authorization: Bearer TOKEN with a token"
            + " of this service")
        .with("WWW-Authenticate", "Bearer realm=\"hawser\"");
  }

  static Problem forbidden(String detail) {
    return of(403, "forbidden", "The caller may not do this", detail);
  }

  static Problem agentUnknown(String name) {
    return of(
        404,
        "agent-unknown",
        "There is no such agent",
        "No agent " + name + " is present: it was never published, has expired or was deleted, or the service was"
            + " restarted; its owner publishes it again");
  }

  static Problem noSuchRoute(String path) {
    return of(404, "no-such-route", "There is no such route", "Nothing is at " + path + "; the API begins at /v1/");
  }

  static Problem methodNotAllowed(String method, String path, String allowed) {
    return of(
        405,
        "method-not-allowed",
        "The route has no such method",
        method + " is not a method of " + path + "; use " + allowed)
        .with("Allow", allowed);
  }

  static Problem notAcceptable(String accept, String offered) {
    return of(
        406, "not-acceptable", "The answer has no such form", accept + " cannot be had here; accept " + offered);
  }

  static Problem requestTimeout(String detail) {
    return of(408, "request-timeout", "The request did not arrive in time", detail);
  }

  static Problem superseded(String name, long epoch, long recordedEpoch, String recordedAddress) {
    String recorded = Long.toUnsignedString(recordedEpoch);
    return new Problem(
        409,
        "epoch-superseded",
        "A newer incarnation has the name",
        "Agent " + name + " of epoch " + Long.toUnsignedString(epoch) + " is superseded by epoch " + recorded
            + (recordedAddress.isEmpty() ? "" : " at " + recordedAddress)
            + "; stop it, or start it anew with an epoch greater than " + recorded,
        OptionalLong.of(recordedEpoch),
        recordedAddress,
        Map.of());
  }

  static Problem mismatch(String name, long expected, long recordedEpoch, String recordedAddress) {
    String found =
        recordedEpoch == 0
            ? "there is no entry"
            : "epoch " + Long.toUnsignedString(recordedEpoch) + " is recorded"
                + (recordedAddress.isEmpty() ? "" : " at " + recordedAddress);
    return new Problem(
        409,
        "epoch-mismatch",
        "The recorded epoch is not the expected one",
        "Agent " + name + " was expected "
            + (expected == 0 ? "to have no entry" : "with epoch " + Long.toUnsignedString(expected))
            + ", but " + found + "; fetch it again and decide anew",
        OptionalLong.of(recordedEpoch),
        recordedAddress,
        Map.of());
  }

  static Problem offsetDiffers(String name, int offset, int length) {
    return of(
        409,
        "offset-differs",
        "The blob has another length",
        "The blob of " + name + " has " + length + " bytes, so that nothing can be appended at " + offset
            + "; publish it whole")
        .with("Hawser-Blob-Offset", Integer.toString(length));
  }

  static Problem rankTaken(Join join, String holder) {
    return of(
        409,
        "rank-taken",
        "Another member has the rank",
        "Rank " + join.rank() + " of " + join.id().name() + ", round " + join.id().round() + ", is held by " + holder
            + "; give each member its own rank, and a new name or round after a restart");
  }

  static Problem sizeDiffers(Join join, int size) {
    return of(
        409,
        "size-differs",
        "The meeting is of another size",
        join.id().name() + ", round " + join.id().round() + ", is a meeting of " + size + ", not of " + join.size()
            + "; let all members give the same size");
  }

  static Problem bodyTooLarge(String detail) {
    return of(413, "body-too-large", "The body is too large", detail);
  }

  static Problem unsupportedMediaType(String given, String offered) {
    return of(
        415,
        "unsupported-media-type",
        "The body has no form that this route reads",
        (given.isEmpty() ? "A missing Content-Type" : given) + " cannot be read here; send " + offered);
  }

  static Problem headersTooLarge(String detail) {
    return of(431, "headers-too-large", "The headers are too large", detail);
  }

  static Problem internal(String requestId) {
    return of(
        500,
        "internal",
        "The service made a mistake",
        "The request failed by a fault of the service; its log tells more under request id " + requestId);
  }

  static Problem unavailable(String slug, String title, String detail) {
    return of(503, slug, title, detail).with("Retry-After", "1");
  }

  static Problem storeFull(String name, String why) {
    return of(507, "store-full", "The store has no room", "Agent " + name + " was not recorded: " + why);
  }
}
