#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "spec/fields.hpp"
#include "spec/parsed_experiment.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kMostMountParts = 3;

/// Options of a runtime that hpcbench writes itself, or with which it would not see how the program ends.
struct ContainerOption {
  ContainerRuntime runtime;
  std::string_view name;
  const char* instead;
};

constexpr const char* kSayMounts = "say it in `container.mounts`: [\"/data:/data:ro\"]";
constexpr const char* kSayWorkdir = "say it as `workdir: FOLDER`";
constexpr const char* kInForeground = "remove it: each process waits for its container";

constexpr std::array kContainerOptions = {
    ContainerOption{ContainerRuntime::apptainer, "--bind", kSayMounts},
    ContainerOption{ContainerRuntime::apptainer, "-B", kSayMounts},
    ContainerOption{ContainerRuntime::apptainer, "--pwd", kSayWorkdir},
    ContainerOption{ContainerRuntime::apptainer, "--cwd", kSayWorkdir},
    ContainerOption{ContainerRuntime::pyxis, "--container-image", "say it as `container.image`"},
    ContainerOption{ContainerRuntime::pyxis, "--container-mounts", kSayMounts},
    ContainerOption{ContainerRuntime::pyxis, "--container-workdir", kSayWorkdir},
    ContainerOption{ContainerRuntime::pyxis, "--container-env", "remove it: the run's variables go into the container"},
    ContainerOption{ContainerRuntime::podman, "--volume", kSayMounts},
    ContainerOption{ContainerRuntime::podman, "-v", kSayMounts},
    ContainerOption{ContainerRuntime::podman, "--workdir", kSayWorkdir},
    ContainerOption{ContainerRuntime::podman, "-w", kSayWorkdir},
    ContainerOption{ContainerRuntime::podman, "--detach", kInForeground},
    ContainerOption{ContainerRuntime::podman, "-d", kInForeground},
    ContainerOption{ContainerRuntime::podman, "--interactive", kInForeground},
    ContainerOption{ContainerRuntime::podman, "-i", kInForeground},
    ContainerOption{ContainerRuntime::podman, "--tty", kInForeground},
    ContainerOption{ContainerRuntime::podman, "-t", kInForeground},
    ContainerOption{ContainerRuntime::podman, "--name", "remove it: each process has a container of its own"},
};

void check_args(const YamlNode& node, const Container& container, Diagnostics& diagnostics) {
  for (std::size_t i = 0; i < container.args.size(); ++i) {
    const std::string& option = container.args[i];
    const std::string_view word = std::string_view(option).substr(0, option.find('='));
    const auto own = std::find_if(kContainerOptions.begin(), kContainerOptions.end(), [&](const ContainerOption& each) {
      return each.runtime == container.runtime && each.name == word;
    });
    if (own != kContainerOptions.end()) {
      diagnostics.add(node.items[i].location, fmt::format("{} cannot stand in `container.args`", cite(option)), own->instead);
    } else if (container.runtime == ContainerRuntime::pyxis && !word.starts_with("--container-") &&
               !word.starts_with("--no-container-")) {
      diagnostics.add(node.items[i].location, fmt::format("{} is no option of pyxis", cite(option)),
                      "its options start with --container- or --no-container-; other options of srun belong into `srun`");
    }
  }
}

bool is_absolute(std::string_view path) { return path.starts_with('/') || path.starts_with("{{"); }

void check_mount(const YamlNode& node, const std::string& mount, Diagnostics& diagnostics) {
  constexpr const char* kForm = "write \"/data\", \"/scratch/data:/data\" or \"/scratch/data:/data:ro\"";
  const std::vector<std::string> parts = split(mount, ':');
  const bool option = parts.size() < kMostMountParts || parts[2] == "ro" || parts[2] == "rw";
  if (parts.size() > kMostMountParts || !option || !is_absolute(parts[0]) || (parts.size() > 1 && !is_absolute(parts[1]))) {
    diagnostics.add(node.location, fmt::format("{} is no mount of absolute paths", cite(mount)), kForm);
  } else if (mount.find(',') != std::string::npos) {
    diagnostics.add(node.location, fmt::format("{} holds a comma, which separates mounts", cite(mount)), kForm);
  }
}

Container read_container_map(const YamlNode& node, Diagnostics& diagnostics) {
  Container container;
  MapReader reader(node, "container", diagnostics);
  if (!reader.has("image"))
    diagnostics.add(node.location, "`container` needs `image`", "container: {image: torch.sif, runtime: apptainer}");
  assign(container.image, reader.filled_text("image"));
  assign(container.runtime, reader.choice<ContainerRuntime>("runtime", {{"apptainer", ContainerRuntime::apptainer},
                                                                        {"pyxis", ContainerRuntime::pyxis},
                                                                        {"podman", ContainerRuntime::podman}}));
  assign(container.args, reader.texts_or_none("args"));
  assign(container.mounts, reader.texts_or_none("mounts"));
  reader.finish();
  if (!container.args.empty()) check_args(*node.find("args"), container, diagnostics);
  for (std::size_t i = 0; i < container.mounts.size(); ++i) {
    check_mount(node.find("mounts")->items[i], container.mounts[i], diagnostics);
  }
  return container;
}

}  // namespace

const char* to_string(ContainerRuntime runtime) {
  switch (runtime) {
    case ContainerRuntime::apptainer:
      return "apptainer";
    case ContainerRuntime::pyxis:
      return "pyxis";
    case ContainerRuntime::podman:
      return "podman";
  }
  return "";
}

std::optional<Container> read_container(MapReader& reader, Diagnostics& diagnostics) {
  const YamlNode* node = reader.take("container");
  if (node == nullptr) return std::nullopt;
  const std::size_t before = diagnostics.made();
  Container container;
  if (node->is_scalar()) {
    assign(container.image, reader.filled_text("container"));
  } else {
    container = read_container_map(*node, diagnostics);
  }
  if (container.image.starts_with('-')) {
    diagnostics.add(node->location, fmt::format("{} is no image: it reads as an option", cite(container.image)));
  }
  return diagnostics.made() == before ? std::optional(container) : std::nullopt;
}

void check_container(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  const Experiment& experiment = parsed.experiment;
  if (!experiment.work.container || experiment.work.container->runtime != ContainerRuntime::pyxis) return;
  const SourceLocation& location = parsed.root->find("container")->find("runtime")->location;
  if (experiment.executor == "local") {
    diagnostics.add(location, "`runtime: pyxis` is a plugin of Slurm's srun, and the executor is local",
                    "say `runtime: apptainer` or `runtime: podman`, or `executor: slurm` or a --site");
  }
  if (experiment.launcher != "srun") {
    diagnostics.add(location, "`runtime: pyxis` is a plugin of srun, and `launcher` is mpirun", "say `runtime: apptainer`");
  }
  const bool once = experiment.work.launch == Launch::once ||
                    std::any_of(parsed.overrides.begin(), parsed.overrides.end(),
                                [](const ParsedOverride& entry) { return entry.override_.launch == Launch::once; });
  if (once) {
    diagnostics.add(location, "`runtime: pyxis` is a plugin of srun, and with `launch: once` hpcbench calls no srun",
                    "say `runtime: apptainer`, or let `command` call srun with `--container-image`");
  }
}

}  // namespace hpcbench
