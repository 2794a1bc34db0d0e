/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideOutsideOfPackages;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.name;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.library.GeneralCodingRules;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The rules of the design that no compiler holds, over the classes of every module that this one can see. */
class ArchitectureTest {
  private static final String[] LIBRARY = {"dev.hawser.memory..", "dev.hawser.engine..", "dev.hawser.agent.."};
  private static final String TRANSPORT_PROVIDER = "dev.hawser.engine.spi.TransportProvider";

  private static JavaClasses hawser;

  @BeforeAll
  static void readClasses() {
    hawser = new ClassFileImporter()
        .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
        .withImportOption(location -> !location.contains("jmh_generated"))
        .importPackages("dev.hawser");
  }

  @ParameterizedTest
  @CsvSource({
      "memory, memory",
      "engine, engine memory",
      "agent, agent engine memory",
      "metadata, metadata",
  })
  void dependsOnlyOnTheModulesBelow(String module, String allowed) {
    String[] packages = Arrays.stream(allowed.split(" "))
        .map(name -> "dev.hawser." + name + "..")
        .toArray(String[]::new);

    classes()
        .that(resideInAnyPackage("dev.hawser." + module + ".."))
        .should()
        .onlyDependOnClassesThat(resideInAnyPackage(packages).or(resideOutsideOfPackages("dev.hawser..")))
        .check(hawser);
  }

  /** The packages of all transports that there are. */
  private static Set<String> transports() {
    Set<String> transports = hawser.stream()
        .filter(type -> !type.isInterface() && type.isAssignableTo(TRANSPORT_PROVIDER))
        .map(JavaClass::getPackageName)
        .collect(Collectors.toSet());
    assertThat(transports).as("otherwise the rules about them would hold for nothing")
        .contains("dev.hawser.engine.shm", "dev.hawser.engine.tcp");
    return transports;
  }

  @Test
  void aTransportKnowsOnlyWhatIsBelowTheLinks() {
    for (String transport : transports()) {
      classes()
          .that(resideInAnyPackage(transport + ".."))
          .should()
          .onlyDependOnClassesThat(
              resideInAnyPackage(
                  transport + "..", "dev.hawser.engine.spi..", "dev.hawser.engine.net..", "dev.hawser.engine.mapped..",
                  "dev.hawser.engine.staging..", "dev.hawser.engine.text..", "dev.hawser.memory..")
                  .or(resideOutsideOfPackages("dev.hawser..")))
          .check(hawser);
    }
  }

  @Test
  void nothingOutsideATransportsPackageNamesIt() {
    for (String transport : transports()) {
      noClasses()
          .that(resideOutsideOfPackages(transport + ".."))
          .should()
          .dependOnClassesThat(resideInAnyPackage(transport + ".."))
          .check(hawser);
    }
  }

  @Test
  void theLibraryNeedsNoFramework() {
    noClasses()
        .that(resideInAnyPackage(LIBRARY))
        .should()
        .dependOnClassesThat(
            resideInAnyPackage("io.vertx..", "io.netty..", "com.fasterxml..", "io.etcd..", "info.picocli.."))
        .check(hawser);
  }

  @Test
  void logsThroughSystemLoggerOnly() {
    noClasses()
        .should()
        .dependOnClassesThat(
            resideInAnyPackage("java.util.logging..", "org.slf4j..", "org.apache.logging..",
                "io.vertx.core.internal.logging.."))
        .check(hawser);
  }

  @Test
  void writesToStandardStreamsInProgramsOnly() {
    noClasses()
        .that(resideOutsideOfPackages("dev.hawser.perf..").and(not(name("dev.hawser.sidecar.Main"))))
        .should(GeneralCodingRules.ACCESS_STANDARD_STREAMS)
        .check(hawser);
  }

  @Test
  void throwsTypedExceptions() {
    GeneralCodingRules.NO_CLASSES_SHOULD_THROW_GENERIC_EXCEPTIONS.check(hawser);
  }

  @Test
  void declaresNoCheckedException() {
    classes()
        .that()
        .areAssignableTo(Exception.class)
        .should()
        .beAssignableTo(RuntimeException.class)
        .because("checked exceptions do not pass through callbacks and futures")
        .check(hawser);
  }

  @Test
  void usesNoUnsafe() {
    noClasses().should().dependOnClassesThat(resideInAnyPackage("sun.misc..", "jdk.internal..")).check(hawser);
  }

  @Test
  void theEngineHasNoWallClockAndNoSeedlessChance() {
    noClasses()
        .that(resideInAnyPackage("dev.hawser.engine.."))
        .should()
        .callMethod(System.class, "currentTimeMillis")
        .orShould()
        .callMethod(Instant.class, "now")
        .orShould()
        .callMethod(Math.class, "random")
        .orShould()
        .callMethod(ThreadLocalRandom.class, "current")
        .orShould()
        .callConstructor(Random.class)
        .because("the simulation replays a run from its seed, and no lease follows a clock that can be set")
        .check(hawser);
  }

  @Test
  void neverSleeps() {
    noClasses()
        .that(resideOutsideOfPackages("dev.hawser.perf.."))
        .should()
        .callMethod(Thread.class, "sleep", long.class)
        .orShould()
        .callMethod(Thread.class, "sleep", Duration.class)
        .because("what waits, waits for an event, with a deadline")
        .check(hawser);
  }
}
