#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/value.hpp"
#include "spec/fields.hpp"
#include "spec/parsed_experiment.hpp"
#include "spec/srun_options.hpp"

namespace hpcbench {

namespace {

/// Variables that are not for `environment`.
struct ReservedVariable {
  std::string_view name;
  bool begins;  // every name that begins so
  const char* why;
  const char* instead;
};

constexpr const char* kPlaceInRun = "hpcbench tells each process its place in the run by it";
constexpr const char* kFromAxes = "it follows from `launch` and the axes nodes and gpus_per_node";
constexpr const char* kMeeting = "hpcbench says by it where the processes meet";
constexpr const char* kInSetup = "a line of `setup` may change it: setup: [\"export MASTER_PORT=29500\"]";
constexpr const char* kOfSlurm = "Slurm's tools read the variables that begin so";
constexpr const char* kAsOptions = "give srun its options in `srun`, and sbatch those in `resources.extra`";
constexpr const char* kByMpirun = "mpirun tells each process its place by it";
constexpr const char* kOfShell = "a shell does not let it be set";
constexpr const char* kOfScript = "job.sh uses this name";
constexpr const char* kOtherName = "choose another name";
constexpr const char* kRemoveVariable = "remove it";

constexpr std::array kReserved = {
    ReservedVariable{"RANK", false, kPlaceInRun, kFromAxes},
    ReservedVariable{"LOCAL_RANK", false, kPlaceInRun, kFromAxes},
    ReservedVariable{"NODE_RANK", false, kPlaceInRun, kFromAxes},
    ReservedVariable{"GROUP_RANK", false, kPlaceInRun, kFromAxes},
    ReservedVariable{"WORLD_SIZE", false, kPlaceInRun, kFromAxes},
    ReservedVariable{"LOCAL_WORLD_SIZE", false, kPlaceInRun, kFromAxes},
    ReservedVariable{"MASTER_ADDR", false, kMeeting, kInSetup},
    ReservedVariable{"MASTER_PORT", false, kMeeting, kInSetup},
    ReservedVariable{"HPCBENCH_", true, "names that begin so are hpcbench's own", kOtherName},
    ReservedVariable{"SLURM_", true, kOfSlurm, kAsOptions},
    ReservedVariable{"SRUN_", true, kOfSlurm, kAsOptions},
    ReservedVariable{"SBATCH_", true, kOfSlurm, kAsOptions},
    ReservedVariable{"OMPI_COMM_WORLD_", true, kByMpirun, kRemoveVariable},
    ReservedVariable{"PMI_RANK", false, kByMpirun, kRemoveVariable},
    ReservedVariable{"PMI_SIZE", false, kByMpirun, kRemoveVariable},
    ReservedVariable{"PMIX_RANK", false, kByMpirun, kRemoveVariable},
    ReservedVariable{"MPI_LOCALRANKID", false, kByMpirun, kRemoveVariable},
    ReservedVariable{"MPI_LOCALNRANKS", false, kByMpirun, kRemoveVariable},
    ReservedVariable{"BASHOPTS", false, kOfShell, kRemoveVariable},
    ReservedVariable{"BASH_VERSINFO", false, kOfShell, kRemoveVariable},
    ReservedVariable{"EUID", false, kOfShell, kRemoveVariable},
    ReservedVariable{"PPID", false, kOfShell, kRemoveVariable},
    ReservedVariable{"SHELLOPTS", false, kOfShell, kRemoveVariable},
    ReservedVariable{"UID", false, kOfShell, kRemoveVariable},
    ReservedVariable{"run_dir", false, kOfScript, kOtherName},
    ReservedVariable{"run_dir_word", false, kOfScript, kOtherName},
};

bool check_variable_name(const YamlKey& key, Diagnostics& diagnostics) {
  if (!is_identifier(key.name)) {
    diagnostics.add(key.location, fmt::format("{} cannot be the name of a variable", cite(key.name)),
                    "names consist of letters, digits and `_`, and do not start with a digit");
    return false;
  }
  const auto reserved = std::find_if(kReserved.begin(), kReserved.end(), [&](const ReservedVariable& each) {
    return each.begins ? key.name.starts_with(each.name) : key.name == each.name;
  });
  if (reserved == kReserved.end()) return true;
  diagnostics.add(key.location, fmt::format("{} cannot stand in `environment`: {}", cite(key.name), reserved->why),
                  reserved->instead);
  return false;
}

/// Values are quoted: what a shell would expand stays as it is, and `PATH: /opt/bin:$PATH` would leave no PATH at all.
bool expands_in_shell(const std::string& text) {
  for (std::size_t at = text.find('$'); at != std::string::npos; at = text.find('$', at + 1)) {
    const char next = at + 1 < text.size() ? text[at + 1] : ' ';
    if (next == '{' || next == '(' || is_identifier(std::string(1, next))) return true;
  }
  return false;
}

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

/// Whether the name is one of a secret and the value may be one: no number, truth value, path or placeholder.
bool may_be_secret(const std::string& name, const std::string& value) {
  const std::string upper = in_capitals(name);
  constexpr std::array kWords = {"TOKEN", "KEY", "SECRET", "PASSWORD"};
  const bool named =
      std::any_of(kWords.begin(), kWords.end(), [&](const char* word) { return upper.find(word) != std::string::npos; });
  if (!named || value.empty() || value.front() == '/' || value.find("{{") != std::string::npos) return false;
  const Value plain = Value::from_plain(value);
  constexpr std::array kTruthValues = {"TRUE", "FALSE", "YES", "NO", "ON", "OFF"};
  const std::string text = in_capitals(value);
  return !plain.number() && std::find(kTruthValues.begin(), kTruthValues.end(), text) == kTruthValues.end();
}

std::optional<std::string> read_variable(const YamlKey& key, const YamlNode& node, Diagnostics& diagnostics) {
  const std::string what = fmt::format("`environment.{}`", key.name);
  if (node.kind == YamlNode::Kind::absent) {
    diagnostics.add(key.location, what + " needs a value", "write \"\" for an empty text, or remove the key");
    return std::nullopt;
  }
  std::optional<std::string> text = read_text(node, what, diagnostics);
  if (text && !expands_in_shell(*text) && may_be_secret(key.name, *text)) {
    diagnostics.add(
        node.location, what + " looks like a secret, and results and exports would contain its value",
        fmt::format("remove it and call `export {0}=...` before hpcbench: runs inherit {0}, and no file has its value; "
                    "if it is no secret, write it as a line of `setup`",
                    key.name));
    return std::nullopt;
  }
  if (!text || !expands_in_shell(*text)) return text;
  diagnostics.add(node.location, fmt::format("{} is {} itself: no shell reads it", what, cite(*text)),
                  fmt::format("write it as a line of `setup`: setup: ['export {}=\"{}\"']", key.name, *text));
  return std::nullopt;
}

void add_list(std::vector<GivenText>& texts, const YamlNode* list, GivenText::Filled filled) {
  if (list == nullptr || !list->is_list()) return;
  for (const YamlNode& item : list->items) {
    if (item.is_scalar()) texts.push_back({item.text, &item, filled});
  }
}

/// The values of a map; none where it is absent, or no map.
const std::vector<YamlNode>& values_of(const YamlNode* map) {
  static const std::vector<YamlNode> kNone;
  return map != nullptr && map->is_map() ? map->items : kNone;
}

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
  MapReader reader(node, "container", container_keys(), diagnostics);
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

std::optional<Variables> read_environment(MapReader& reader, Diagnostics& diagnostics) {
  const YamlNode* node = reader.take("environment");
  if (node == nullptr || !expect_map(*node, "`environment`", diagnostics)) return std::nullopt;
  Variables variables;
  for (std::size_t i = 0; i < node->items.size() && !diagnostics.full(); ++i) {
    const bool named = check_variable_name(node->keys[i], diagnostics);
    std::optional<std::string> value = read_variable(node->keys[i], node->items[i], diagnostics);
    if (named && value) variables.emplace_back(node->keys[i].name, *std::move(value));
  }
  return variables;
}

std::optional<std::vector<std::string>> read_srun_options(MapReader& reader, Diagnostics& diagnostics) {
  const YamlNode* node = reader.take("srun");
  if (node == nullptr) return std::nullopt;
  if (node->is_list() && node->items.empty()) return std::vector<std::string>();
  std::optional<std::vector<std::string>> options = read_texts(*node, "`srun`", diagnostics);
  if (options) check_srun_options(*node, *options, diagnostics);
  return options;
}

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

namespace {

/// Where the file, or an override, says pyxis; null if it does not.
const YamlNode* pyxis_node(const std::optional<Container>& container, const YamlNode& map) {
  const bool pyxis = container && container->runtime == ContainerRuntime::pyxis;
  return pyxis ? map.find("container")->find("runtime") : nullptr;
}

void check_pyxis(const ParsedExperiment& parsed, const SourceLocation& location, Diagnostics& diagnostics) {
  const Experiment& experiment = parsed.experiment;
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

}  // namespace

void check_container(const ParsedExperiment& parsed, Diagnostics& diagnostics) {
  if (const YamlNode* node = pyxis_node(parsed.experiment.work.container, *parsed.root))
    check_pyxis(parsed, node->location, diagnostics);
  for (const ParsedOverride& entry : parsed.overrides) {
    if (const YamlNode* node = pyxis_node(entry.override_.container, *entry.node))
      check_pyxis(parsed, node->location, diagnostics);
  }
}

void read_start(MapReader& reader, ParsedExperiment& parsed, Diagnostics& diagnostics) {
  Work& work = parsed.experiment.work;
  for (auto& [name, value] : read_environment(reader, diagnostics).value_or(Variables())) {
    const auto known = std::find_if(work.environment.begin(), work.environment.end(),
                                    [&](const auto& variable) { return variable.first == name; });
    if (known != work.environment.end()) {
      known->second = value;  // the site's
    } else {
      work.environment.emplace_back(name, value);
    }
  }
  const std::vector<std::string> options = read_srun_options(reader, diagnostics).value_or(std::vector<std::string>());
  work.srun.insert(work.srun.end(), options.begin(), options.end());
  work.container = read_container(reader, diagnostics);
}

std::vector<GivenText> start_texts(const YamlNode& map) {
  std::vector<GivenText> texts;
  const auto add_scalar = [&](const YamlNode* node, GivenText::Filled filled) {
    if (node != nullptr && node->is_scalar()) texts.push_back({node->text, node, filled});
  };
  using Filled = GivenText::Filled;
  for (const YamlNode& value : values_of(map.find("environment"))) add_scalar(&value, Filled::for_run);
  add_list(texts, map.find("srun"), Filled::for_run);
  const YamlNode* const container = map.find("container");
  add_scalar(container, Filled::for_run);
  if (container != nullptr && container->is_map()) {
    add_scalar(container->find("image"), Filled::for_run);
    for (const char* const key : {"args", "mounts"}) add_list(texts, container->find(key), Filled::for_run);
  }
  add_scalar(map.find("partition"), Filled::for_point);
  add_list(texts, map.find("modules"), Filled::modules);
  const YamlNode* const files = map.find("files");
  for (std::size_t i = 0; files != nullptr && files->is_list() && i < files->items.size(); ++i) {
    const YamlNode& file = files->items[i];
    if (!file.is_map()) continue;
    add_scalar(file.find("from"), Filled::for_point);
    add_scalar(file.find("to"), Filled::for_point);
  }
  for (const YamlNode& value : values_of(map.find("resources"))) {
    add_scalar(&value, Filled::for_point);
    add_list(texts, &value, Filled::for_point);
  }
  return texts;
}

std::vector<GivenText> start_texts(const ParsedExperiment& parsed) {
  std::vector<GivenText> texts;
  if (parsed.site_root != nullptr && parsed.site_root->is_map()) {
    const YamlNode* const own = parsed.root->find("environment");
    const YamlNode* const variables = parsed.site_root->find("environment");
    for (std::size_t i = 0; variables != nullptr && variables->is_map() && i < variables->items.size(); ++i) {
      const bool replaced = own != nullptr && own->find(variables->keys[i].name) != nullptr;
      if (!replaced && variables->items[i].is_scalar()) texts.push_back({variables->items[i].text, &variables->items[i]});
    }
    add_list(texts, parsed.site_root->find("srun"), GivenText::Filled::for_run);
  }
  const std::vector<GivenText> own = start_texts(*parsed.root);
  texts.insert(texts.end(), own.begin(), own.end());
  return texts;
}

}  // namespace hpcbench
