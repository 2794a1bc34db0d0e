/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs.abi;

/** How work completions are called, and what to look at after each. */
public final class WcStatuses {
  private static final String[] NAMES = {
      "SUCCESS", "LOC_LEN_ERR", "LOC_QP_OP_ERR", "LOC_EEC_OP_ERR", "LOC_PROT_ERR", "WR_FLUSH_ERR", "MW_BIND_ERR",
      "BAD_RESP_ERR", "LOC_ACCESS_ERR", "REM_INV_REQ_ERR", "REM_ACCESS_ERR", "REM_OP_ERR", "RETRY_EXC_ERR",
      "RNR_RETRY_EXC_ERR", "LOC_RDD_VIOL_ERR", "REM_INV_RD_REQ_ERR", "REM_ABORT_ERR", "INV_EECN_ERR",
      "INV_EEC_STATE_ERR", "FATAL_ERR", "RESP_TIMEOUT_ERR", "GENERAL_ERR"
  };

  private WcStatuses() {}

  /** Name and number, for example {@code RETRY_EXC_ERR (12)}. */
  public static String describe(int status) {
    return (status >= 0 && status < NAMES.length ? NAMES[status] : "status") + " (" + status + ")";
  }

  /** What to look at; empty where there is nothing to say. */
  public static String hint(int status) {
    return switch (status) {
      case VerbsAbi.WcStatus.RETRY_EXC_ERR, VerbsAbi.WcStatus.RESP_TIMEOUT_ERR ->
        "the peer did not answer: check the route between the two GIDs, the GID index (verbs.gid-index), the MTU on the "
            + "way, and that no firewall drops UDP port 4791";
      case VerbsAbi.WcStatus.RNR_RETRY_EXC_ERR ->
        "the peer had no receive posted for too long: it is stopped, or verbs.receive-buffers is too small there";
      case VerbsAbi.WcStatus.LOC_PROT_ERR, VerbsAbi.WcStatus.LOC_ACCESS_ERR, VerbsAbi.WcStatus.LOC_LEN_ERR ->
        "the local memory's key, range or permission is wrong: was its region closed under the transfer?";
      case VerbsAbi.WcStatus.REM_INV_REQ_ERR ->
        "the peer's device did not understand the request: packets were lost or reordered in a way that it cannot mend";
      case VerbsAbi.WcStatus.REM_ACCESS_ERR, VerbsAbi.WcStatus.REM_INV_RD_REQ_ERR ->
        "the peer's memory does not allow it: check the remote key, the range and the permission, and whether the region "
            + "was closed there";
      case VerbsAbi.WcStatus.REM_OP_ERR -> "the peer's device failed to carry it out: look at its kernel log";
      case VerbsAbi.WcStatus.WR_FLUSH_ERR -> "the queue pair had failed before: the first error says why";
      case VerbsAbi.WcStatus.FATAL_ERR, VerbsAbi.WcStatus.GENERAL_ERR -> "the device failed: look at the kernel log";
      default -> "";
    };
  }
}
