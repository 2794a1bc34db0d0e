/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import dev.hawser.perf.doctor.Finding;
import dev.hawser.perf.doctor.HostCheck;
import dev.hawser.perf.doctor.PeerCheck;
import dev.hawser.perf.doctor.TransportCheck;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Prints what is here and what is wrong with it. */
@Command(name = "doctor", mixinStandardHelpOptions = true, versionProvider = Version.class,
    description = "Says what is here, what is wrong with it, and how to mend it. Ends with 1 if something "
        + "does not work.")
final class DoctorCommand implements Callable<Integer> {
  @Spec
  private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() {
    List<Finding> findings = new ArrayList<>(new HostCheck().findings());
    findings.addAll(TransportCheck.findings());
    findings.addAll(PeerCheck.findings());
    PrintWriter out = spec.commandLine().getOut();
    boolean problem = false;
    for (Finding finding : findings) {
      problem |= finding.level() == Finding.Level.PROBLEM;
      out.printf("%-8s %-15s %s%n", finding.level().name().toLowerCase(Locale.ROOT), finding.subject(),
          finding.state());
      if (!finding.advice().isEmpty()) {
        out.printf("%24s %s%n", "->", finding.advice());
      }
    }
    return problem ? 1 : 0;
  }
}
