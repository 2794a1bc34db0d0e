/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.engine.verbs.abi;

import dev.hawser.engine.net.RawMemory;

/**
 * What a device can do: {@code struct ibv_device_attr}.
 *
 * @param firmware its version
 * @param nodeGuid of the device, in host order
 * @param maxRegionBytes the longest registration
 * @param vendorId the vendor's OUI
 * @param maxWorkRequests in one send queue
 * @param maxCqEntries in one completion queue
 * @param maxReads that a queue pair serves at once
 * @param maxInitiatedReads that a queue pair has under way at once
 * @param maxSharedQueues shared receive queues; 0 if it has none
 * @param maxSharedRequests in one of them
 * @param ports how many there are, numbered from 1
 */
public record DeviceAttributes(
    String firmware,
    long nodeGuid,
    long maxRegionBytes,
    int vendorId,
    int maxWorkRequests,
    int maxCqEntries,
    int maxReads,
    int maxInitiatedReads,
    int maxSharedQueues,
    int maxSharedRequests,
    int ports) {

  static DeviceAttributes read(long attr) {
    return new DeviceAttributes(
        NativeStrings.at(attr + VerbsAbi.DeviceAttr.FW_VER, 64),
        Long.reverseBytes(RawMemory.u64(attr + VerbsAbi.DeviceAttr.NODE_GUID)),
        RawMemory.u64(attr + VerbsAbi.DeviceAttr.MAX_MR_SIZE),
        RawMemory.u32(attr + VerbsAbi.DeviceAttr.VENDOR_ID),
        RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_QP_WR),
        RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_CQE),
        RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_QP_RD_ATOM),
        RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_QP_INIT_RD_ATOM),
        RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_SRQ),
        RawMemory.u32(attr + VerbsAbi.DeviceAttr.MAX_SRQ_WR),
        RawMemory.u8(attr + VerbsAbi.DeviceAttr.PHYS_PORT_CNT));
  }
}
