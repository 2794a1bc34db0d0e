/*
 * Copyright The Hawser authors
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.hawser.perf;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.lang.module.Configuration;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReader;
import java.lang.module.ModuleReference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The jars work on the module path as they do on the class path, which is where the other tests run. */
class ModulesIT {
  private static final String SERVICES = "META-INF/services/";

  private final ModuleFinder jars = ModuleFinder.of(
      Arrays.stream(System.getProperty("java.class.path").split(System.getProperty("path.separator")))
          .filter(entry -> !entry.endsWith("test-classes") && !entry.endsWith("-tests.jar"))
          .map(Path::of)
          .toArray(Path[]::new));

  private Set<ModuleReference> ours() {
    return jars.findAll()
        .stream()
        .filter(module -> module.descriptor().name().startsWith("dev.hawser."))
        .collect(Collectors.toSet());
  }

  @Test
  void resolveAsModules() {
    Set<String> names = ours().stream().map(module -> module.descriptor().name()).collect(Collectors.toSet());

    Configuration resolved =
        Configuration.resolve(jars, List.of(ModuleLayer.boot().configuration()), ModuleFinder.ofSystem(), names);

    assertThat(names)
        .contains("dev.hawser.memory", "dev.hawser.engine", "dev.hawser.agent", "dev.hawser.metadata",
            "dev.hawser.perf");
    assertThat(names).allSatisfy(name -> {
      assertThat(resolved.findModule(name)).isPresent();
      assertThat(jars.find(name).orElseThrow().descriptor().isAutomatic()).isFalse();
    });
  }

  @Test
  void offerTheSameServicesOnBothPaths() throws IOException {
    for (ModuleReference module : ours()) {
      Map<String, List<String>> onModulePath = new TreeMap<>();
      for (ModuleDescriptor.Provides provides : module.descriptor().provides()) {
        onModulePath.put(provides.service(), provides.providers().stream().sorted().toList());
      }

      assertThat(servicesOnClassPath(module)).as(module.descriptor().name()).isEqualTo(onModulePath);
    }
  }

  private static Map<String, List<String>> servicesOnClassPath(ModuleReference module) throws IOException {
    Map<String, List<String>> services = new TreeMap<>();
    try (ModuleReader reader = module.open()) {
      List<String> files = reader.list().filter(name -> name.startsWith(SERVICES) && !name.endsWith("/")).toList();
      for (String file : files) {
        try (InputStream in = reader.open(file).orElseThrow()) {
          List<String> providers = new String(in.readAllBytes(), StandardCharsets.UTF_8).lines()
              .map(line -> line.replaceFirst("#.*", "").strip())
              .filter(line -> !line.isEmpty())
              .sorted()
              .toList();
          services.put(file.substring(SERVICES.length()), providers);
        }
      }
    }
    return services;
  }
}
