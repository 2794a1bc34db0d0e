/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.telemetry;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * What the operating system counts at the port of a rail, whoever's traffic it was.
 *
 * @param rail ours, as {@code transport:name}
 * @param port the interface, or the RDMA device and its port
 * @param counters by the driver's names, since it was loaded; those that never counted are left out
 */
public record PortReport(String rail, String port, Map<String, Long> counters) {
  /** What counts traffic, and no trouble. */
  private static final Set<String> TRAFFIC =
      Set.of(
          "rx_bytes", "tx_bytes", "rx_packets", "tx_packets", "multicast", "rx_compressed", "tx_compressed",
          "port_rcv_data", "port_xmit_data", "port_rcv_packets", "port_xmit_packets", "unicast_rcv_packets",
          "unicast_xmit_packets", "multicast_rcv_packets", "multicast_xmit_packets", "rx_write_requests",
          "rx_read_requests", "rx_atomic_requests", "lifespan", "sent_pkts", "rcvd_pkts", "rdma_sends", "rdma_recvs",
          "ack_deferred", "completer_schedule", "roce_adp_retrans_to", "rx_dct_connect");

  public PortReport {
    counters = Map.copyOf(counters);
  }

  /**
   * Whether a counter tells of loss, congestion or errors: {@code out_of_sequence}, {@code np_cnp_sent}, {@code rx_dropped}.
   */
  public static boolean isTrouble(String counter) {
    return !TRAFFIC.contains(counter);
  }

  /** The counters that tell of trouble, by name. */
  public Map<String, Long> trouble() {
    Map<String, Long> all = new TreeMap<>();
    counters.forEach(
        (name, count) -> {
          if (isTrouble(name)) {
            all.put(name, count);
          }
        });
    return all;
  }
}
