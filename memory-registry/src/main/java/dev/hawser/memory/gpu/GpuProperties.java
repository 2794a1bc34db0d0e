/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.memory.gpu;

/**
 * What is known of a device.
 *
 * @param ordinal its number in this process
 * @param name its model, for example {@code NVIDIA H200}
 * @param pciBusId where it sits, for example {@code 0000:3b:00.0}, in lower case
 * @param uuid 32 hexadecimal digits, the same in every process and container; empty if the driver does not tell
 * @param bytes its memory
 * @param multiprocessors how many multiprocessors or compute units it has
 * @param architecture for example {@code sm_90} or {@code gfx90a}
 * @param dmaBuf whether its memory can be exported as a dma-buf
 * @param streamValues whether its streams can write and wait for 64-bit values
 */
public record GpuProperties(
    int ordinal,
    String name,
    String pciBusId,
    String uuid,
    long bytes,
    int multiprocessors,
    String architecture,
    boolean dmaBuf,
    boolean streamValues) {}
