/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * As much of HTTP/1.1 as an agent needs of its metadata service, on blocking sockets with deadlines.
 *
 * <p>The platform's {@code java.net.http} was measured first: its first request takes more than 200 ms in a fresh
 * virtual machine, where an agent is to be connected after 50. It must not know what the requests are for.
 */
@NullMarked
package dev.hawser.agent.http;

import org.jspecify.annotations.NullMarked;
