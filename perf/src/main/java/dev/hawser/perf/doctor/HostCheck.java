/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf.doctor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Looks at the host through {@code /proc} and {@code /sys}. */
public final class HostCheck {
  private static final int JAVA = 25;
  private static final long MIN_SOCKET_BUFFER = 4 << 20;
  private static final String LOCKED_MEMORY = "Max locked memory";

  private final Path root;

  /** Looks at this host. */
  public HostCheck() {
    this(Path.of("/"));
  }

  /** Looks at a copy of the files of some host. */
  HostCheck(Path root) {
    this.root = root;
  }

  /** All that was looked at, in a fixed order. */
  public List<Finding> findings() {
    List<Finding> findings = new ArrayList<>();
    findings.add(java(Runtime.version().feature(), HostCheck.class.getModule().isNativeAccessEnabled()));
    findings.add(system(System.getProperty("os.name"), System.getProperty("os.version"),
        System.getProperty("os.arch")));
    findings.add(cores(Runtime.getRuntime().availableProcessors()));
    findings.add(lockedMemory());
    findings.add(foreignMemory());
    findings.add(socketBuffers());
    findings.add(rdmaDevices());
    findings.add(gpus());
    return findings;
  }

  static Finding java(int feature, boolean nativeAccess) {
    String state = Runtime.version() + " in " + System.getProperty("java.home");
    if (feature < JAVA) {
      return Finding.problem("java", state, "install a JDK 25 or newer and set HAWSER_JAVA_HOME to it");
    }
    return nativeAccess
        ? Finding.ok("java", state)
        : Finding.problem("java", state + ", native access is off", "start it with --enable-native-access=ALL-UNNAMED");
  }

  static Finding system(String name, String version, String arch) {
    String state = name + " " + version + " " + arch;
    if (!name.equals("Linux")) {
      return Finding.problem("system", state, "run it on Linux: shared memory, epoll and RDMA are Linux's");
    }
    return arch.equals("amd64") || arch.equals("aarch64")
        ? Finding.ok("system", state)
        : Finding.note("system", state, "only x86-64 and aarch64 are tested");
  }

  static Finding cores(int cores) {
    return cores >= 4
        ? Finding.ok("cores", Integer.toString(cores))
        : Finding.note("cores", Integer.toString(cores),
            "both processes and the kernel share them: figures of a bench here say little about a larger host");
  }

  Finding lockedMemory() {
    Optional<String> limit = lines("proc/self/limits").stream()
        .filter(line -> line.startsWith(LOCKED_MEMORY))
        .map(line -> line.substring(LOCKED_MEMORY.length()).strip().split("\\s+", 2)[0])
        .findFirst();
    if (limit.isEmpty()) {
      return Finding.note("locked memory", "not known: /proc/self/limits cannot be read", "mount /proc");
    }
    return limit.get().equals("unlimited")
        ? Finding.ok("locked memory", "unlimited")
        : Finding.note("locked memory", "at most " + limit.get() + " bytes",
            "RDMA registers no more than that: ulimit -l unlimited, or LimitMEMLOCK=infinity in the unit");
  }

  Finding foreignMemory() {
    Optional<String> scope = lines("proc/sys/kernel/yama/ptrace_scope").stream().findFirst();
    String subject = "foreign memory";
    if (scope.isEmpty()) {
      return Finding.ok(subject, "processes of one user may copy from one another (no Yama)");
    }
    return switch (scope.get().strip()) {
      case "0" -> Finding.ok(subject, "processes of one user may copy from one another (ptrace_scope 0)");
      case "3" -> Finding.note(subject, "no process may copy from another (ptrace_scope 3)",
          "memory that the registry allocated is mapped and needs no leave; other memory goes over tcp until a"
              + " reboot with kernel.yama.ptrace_scope=0");
      default -> Finding.note(subject, "only with CAP_SYS_PTRACE or by agreement (ptrace_scope " + scope.get() + ")",
          "for memory that the registry did not allocate: sysctl kernel.yama.ptrace_scope=0");
    };
  }

  Finding socketBuffers() {
    long receive = tcpMaximum("proc/sys/net/ipv4/tcp_rmem");
    long send = tcpMaximum("proc/sys/net/ipv4/tcp_wmem");
    String state = "tcp grows them to " + receive + " (receive) and " + send + " (send) bytes";
    if (receive < 0 || send < 0) {
      return Finding.note("socket buffers", "not known: net.ipv4.tcp_rmem cannot be read", "mount /proc");
    }
    return Math.min(receive, send) >= MIN_SOCKET_BUFFER
        ? Finding.ok("socket buffers", state)
        : Finding.note("socket buffers", state,
            "fast links with long round trips want 16 MiB: sysctl net.ipv4.tcp_rmem='4096 131072 16777216'"
                + " net.ipv4.tcp_wmem='4096 16384 16777216'");
  }

  private long tcpMaximum(String file) {
    List<String> lines = lines(file);
    String[] values = lines.isEmpty() ? new String[0] : lines.getFirst().strip().split("\\s+", -1);
    return values.length == 3 ? Long.parseLong(values[2]) : -1;
  }

  Finding rdmaDevices() {
    List<String> devices = entries("sys/class/infiniband");
    return devices.isEmpty()
        ? Finding.note("rdma devices", "none", "none is needed for tcp and shm; soft-RoCE needs the module rdma_rxe")
        : Finding.ok("rdma devices", String.join(", ", devices));
  }

  Finding gpus() {
    List<String> gpus = entries("dev").stream().filter(name -> name.matches("nvidia\\d+|kfd")).toList();
    return gpus.isEmpty()
        ? Finding.note("gpus", "none", "none is needed for host memory")
        : Finding.ok("gpus", String.join(", ", gpus));
  }

  private List<String> entries(String folder) {
    try (Stream<Path> entries = Files.list(root.resolve(folder))) {
      return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
    } catch (IOException e) {
      // It is not there: nothing of its kind is.
      return List.of();
    }
  }

  private List<String> lines(String file) {
    try {
      return Files.readAllLines(root.resolve(file));
    } catch (IOException e) {
      // Absent on this kernel; each caller says what that means.
      return List.of();
    }
  }
}
