#include "spec/site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/host.hpp"
#include "base/text.hpp"
#include "spec/fields.hpp"
#include "spec/merge.hpp"
#include "spec/parsed_experiment.hpp"
#include "spec/placeholders.hpp"
#include "spec/sbatch_options.hpp"

namespace hpcbench {

namespace {

std::vector<std::filesystem::path> site_folders() {
  const std::filesystem::path program = program_folder();
  return {"sites", program / "sites", program.parent_path() / "sites", program.parent_path() / "share/hpcbench/sites"};
}

bool is_readable_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

}  // namespace

std::vector<std::string> site_names() {
  std::vector<std::string> names;
  for (const std::filesystem::path& folder : site_folders()) {
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
      if (entry->path().extension() == ".yaml") names.push_back(entry->path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string find_site(const std::string& said) {
  if (said.find('/') != std::string::npos || said.ends_with(".yaml")) {
    if (is_readable_file(said)) return said;
    throw InputError(fmt::format("error: --site: there is no file {}", cite(said)));
  }
  for (const std::filesystem::path& folder : site_folders()) {
    const std::filesystem::path path = folder / (said + ".yaml");
    if (is_plain_name(said) && is_readable_file(path)) return path.string();
  }
  const std::vector<std::string> names = site_names();
  throw InputError(
      fmt::format("error: --site: there is no site {}{}\n  = {}", cite(said), did_you_mean(said, names),
                  names.empty() ? "write sites/NAME.yaml, or give a path" : "sites there are: " + cite_all(names)));
}

std::optional<std::string> default_site() {
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  std::filesystem::path folder;
  if (config != nullptr && *config != '\0') {
    folder = config;
  } else if (home != nullptr && *home != '\0') {
    folder = std::filesystem::path(home) / ".config";
  } else {
    return std::nullopt;
  }
  const std::filesystem::path path = folder / "hpcbench/site.yaml";
  return is_readable_file(path) ? std::optional(path.string()) : std::nullopt;
}

namespace {

/// Jobs start in the study's folder of results, and no shell reads the path. A name alone is looked up on the nodes.
void check_program(const YamlNode& root, const std::string& path, Diagnostics& diagnostics) {
  const bool is_bare_name = path.find('/') == std::string::npos && !path.starts_with('~') && !path.starts_with('$');
  if (path.starts_with('/') || is_bare_name) return;
  diagnostics.add(root.find("hpcbench")->location, fmt::format("`hpcbench` is {}: no job would find it", cite(path)),
                  "write the whole path, as it is on the nodes: hpcbench: /apps/hpcbench/bin/hpcbench");
}

/// `commands` and `executor: commands` need each other, and keys that only Slurm obeys are refused.
void check_commands(const YamlNode& root, const Site& site, Diagnostics& diagnostics) {
  const bool described = site.executor && executor_kind(*site.executor).described;
  if (described && root.find("commands") == nullptr) {
    diagnostics.add(root.find("executor")->location, "`executor: commands` needs `commands`, which describes the batch system",
                    "begin with a copy of sites/gridengine.yaml, sites/pbs.yaml, sites/lsf.yaml or sites/flux.yaml");
  }
  if (!described && root.find("commands") != nullptr)
    diagnostics.add(root.find("commands")->location, "`commands` is for `executor: commands` alone", "add executor: commands");
  if (!described) return;
  for (const char* const key : {"gres_type", "extra", "srun"}) {
    if (const YamlNode* const node = root.find(key))
      diagnostics.add(node->location, fmt::format("`{}` is for Slurm", key), "write a line in `commands.directives`");
  }
}

}  // namespace

Site read_site(const YamlNode& said, const std::string& path, Diagnostics& diagnostics) {
  const YamlNode root = without_removals(said);  // `partition: ~` says nothing of it
  Site site;
  site.name = std::filesystem::path(path).stem().string();
  MapReader reader(root, "", site_keys(), diagnostics);
  assign(site.name, reader.filled_text("name"));
  reader.text("description");
  site.profile = reader.filled_text("profile");
  site.executor = reader.word("executor");
  site.partition = reader.filled_text("partition");
  site.account = reader.filled_text("account");
  site.qos = reader.filled_text("qos");
  site.reservation = reader.filled_text("reservation");
  site.gres_type = reader.filled_text("gres_type");
  site.template_path = reader.filled_text("template");
  site.hpcbench = reader.filled_text("hpcbench");
  if (site.hpcbench) check_program(root, *site.hpcbench, diagnostics);
  assign(site.modules, reader.texts_or_none("modules"));
  assign(site.setup, reader.texts_or_none("setup"));
  assign(site.extra, reader.texts_or_none("extra"));
  if (!site.extra.empty()) check_sbatch_options(*root.find("extra"), site.extra, "extra", diagnostics);
  assign(site.environment, read_environment(reader, diagnostics));
  assign(site.srun, read_srun_options(reader, diagnostics));
  refuse_placeholders_in(root, {"partition", "account", "qos", "reservation", "gres_type", "extra", "hpcbench"}, "",
                         "write the value: a site is the same for all points", diagnostics);
  refuse_placeholders_in(root, {"modules"}, "", kModulesAdvice, diagnostics);
  if (const YamlNode* node = reader.take("commands")) site.commands = read_batch_system(*node, diagnostics);
  check_commands(root, site, diagnostics);
  if (const YamlNode* node = reader.take("limits")) {
    MapReader limits(*node, "limits", site_limits_keys(), diagnostics);
    assign(site.max_queued, limits.integer("max_queued"));
    assign(site.max_running, limits.integer("max_running"));
    read_cost_limits(limits, *node, site.limits, diagnostics);
    limits.finish();
  }
  reader.finish();
  return site;
}

}  // namespace hpcbench
