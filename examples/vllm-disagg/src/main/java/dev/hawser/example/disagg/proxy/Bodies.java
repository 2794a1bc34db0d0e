/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.example.disagg.proxy;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Locale;

/** What of a client's request each phase is sent. */
final class Bodies {
  static final String PARAMETERS = "kv_transfer_params";

  private Bodies() {}

  /** Only the prompt is computed, and one token, which is thrown away: the decode engine computes it again. */
  static JsonObject prefill(JsonObject body, JsonObject parameters) {
    JsonObject changed = body.copy().put("stream", false).put("max_tokens", 1).put(PARAMETERS, parameters);
    if (changed.containsKey("max_completion_tokens")) {
      changed.put("max_completion_tokens", 1);
    }
    for (String name : List.of("stream_options", "min_tokens", "n", "best_of")) {
      changed.remove(name);
    }
    return changed;
  }

  static JsonObject decode(JsonObject body, JsonObject parameters) {
    return body.copy().put(PARAMETERS, parameters);
  }

  /** What a prefill engine is asked for. */
  static JsonObject lend(String transfer, Mode mode) {
    return new JsonObject().put("do_remote_decode", true).put("do_remote_prefill", false).put("transfer_id", transfer)
        .put("transfer_mode", mode.name().toLowerCase(Locale.ROOT)).putNull("remote_engine_id")
        .putNull("remote_block_ids").putNull("remote_host").putNull("remote_port");
  }

  /** What a decode engine is told that is to wait for a push. */
  static JsonObject awaitPush(String transfer, JsonObject prefillAddress) {
    return prefillAddress.copy().put("do_remote_prefill", true).put("do_remote_decode", false)
        .put("transfer_id", transfer).put("transfer_mode", "push").put("remote_block_ids", new JsonArray());
  }

  static JsonObject error(int status, String message) {
    String type = status < 500 ? "invalid_request_error" : "server_error";
    return new JsonObject()
        .put("error", new JsonObject().put("message", message).put("type", type).put("code", status));
  }
}
