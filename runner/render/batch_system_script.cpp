#include "render/batch_system_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "spec/placeholders.hpp"

namespace hpcbench {

namespace {

/// hpcbench itself ends a run at its time limit, and records that. The batch system's limit only comes after it.
constexpr double kTimeMarginS = 60;

std::string clock_time(double seconds) {
  const auto whole = static_cast<long>(std::ceil(seconds));
  return fmt::format("{:02}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

using Values = std::map<std::string, std::string>;

Values directive_values(const Experiment& experiment, const Configuration& configuration) {
  const Work& work = *configuration.work;
  const Resources& resources = work.resources;
  const Site& site = experiment.site;
  Values values;
  const auto put = [&](const char* name, const std::optional<std::string>& value) {
    if (value) values[name] = *value;
  };
  const int cpus_per_node = configuration.node_ranks() * resources.cpus_per_task;
  values["nodes"] = std::to_string(configuration.nodes);
  values["ranks"] = std::to_string(configuration.ranks());
  values["ranks_per_node"] = std::to_string(configuration.node_ranks());
  values["cpus_per_task"] = std::to_string(resources.cpus_per_task);
  values["cpus_node"] = std::to_string(cpus_per_node);
  values["cpus"] = std::to_string(configuration.nodes * cpus_per_node);
  if (experiment.has_gpus && configuration.gpus_per_node > 0) {
    values["gpus"] = std::to_string(configuration.gpus());
    values["gpus_per_node"] = std::to_string(configuration.gpus_per_node);
  }
  if (resources.time_s) {
    const double limit_s = *resources.time_s + kTimeMarginS;
    values["time"] = clock_time(limit_s);
    values["time_s"] = std::to_string(static_cast<long>(std::ceil(limit_s)));
    values["time_min"] = std::to_string(static_cast<long>(std::ceil(limit_s / 60)));
  }
  put("mem", resources.mem);
  put("gres", resources.gres);
  put("constraint", resources.constraint);
  if (resources.exclusive) values["exclusive"] = "";
  put("partition", work.partition ? work.partition : site.partition);
  put("account", site.account);
  put("qos", site.qos);
  put("reservation", site.reservation);
  return values;
}

bool is_of_job(const std::string& name) { return name == "name" || name == "log"; }

/// Whether a directive names it.
bool is_used(const BatchSystem& system, const std::string& name) {
  return std::any_of(system.directives.begin(), system.directives.end(), [&](const std::string& line) {
    const std::vector<Placeholder> named = find_placeholders(line);
    return std::any_of(named.begin(), named.end(), [&](const Placeholder& each) { return each.name == name; });
  });
}

void check_value(const Experiment& experiment, const std::string& name, const std::string& value) {
  const bool plain =
      std::all_of(value.begin(), value.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7F; });
  if (plain) return;
  throw InputError(
      fmt::format("{}: error: the value of {{{{{}}}}}, {}, has control characters: it cannot stand in a line of a "
                  "batch script",
                  experiment.path, name, json_quote(value)));
}

/// A part of a directive; absent where one of its placeholders has no value.
std::optional<std::string> filled(const Experiment& experiment, const Values& values, const std::string& part) {
  std::string text;
  std::size_t end = 0;
  for (const Placeholder& placeholder : find_placeholders(part)) {
    text += part.substr(end, placeholder.offset - end);
    end = part.find("}}", placeholder.offset) + 2;
    const auto value = values.find(placeholder.name);
    if (is_of_job(placeholder.name)) {
      text += "{{" + placeholder.name + "}}";
    } else if (value == values.end()) {
      return std::nullopt;
    } else {
      check_value(experiment, placeholder.name, value->second);
      text += value->second;
    }
  }
  return text + part.substr(end);
}

void require_used(const Experiment& experiment, const Values& values) {
  static const std::vector<std::pair<std::string, std::string>> kKeys = {{"mem", "resources.mem"},
                                                                         {"gres", "resources.gres"},
                                                                         {"constraint", "resources.constraint"},
                                                                         {"exclusive", "resources.exclusive"},
                                                                         {"partition", "partition"},
                                                                         {"account", "site.account"},
                                                                         {"qos", "site.qos"},
                                                                         {"reservation", "site.reservation"}};
  const BatchSystem& system = *experiment.site.commands;
  for (const auto& [name, key] : kKeys) {
    if (!values.contains(name) || is_used(system, name)) continue;
    throw InputError(
        fmt::format("{}: error: `{}` would have no effect: no line of the site's `commands.directives` has {{{{{}}}}}\n"
                    "  = add such a line to the site, or remove the key",
                    experiment.place_of_key(key), key.starts_with("site.") ? key.substr(5) : key, name));
  }
  for (const auto& [name, what] : {std::pair{"nodes", "nodes"}, std::pair{"gpus_per_node", "gpus"}}) {
    const bool is_one = name == std::string("nodes") && values.at("nodes") == "1";
    const bool is_named = is_used(system, name) || (name == std::string("gpus_per_node") && is_used(system, "gpus")) ||
                          (name == std::string("nodes") && (is_used(system, "cpus") || is_used(system, "ranks")));
    if (!values.contains(name) || is_one || is_named) continue;
    throw InputError(
        fmt::format("{}: error: the study has {}, and no line of the site's `commands.directives` requests them\n"
                    "  = add a line with {{{{{}}}}} to the site, as your cluster's documentation says",
                    experiment.path, what, name));
  }
}

}  // namespace

std::string batch_job_name(const std::string& experiment, const std::string& batch, int index) {
  return fmt::format("hb.{}.{}.{}", experiment, batch, index);
}

std::vector<std::string> batch_directives(const Experiment& experiment, const Configuration& configuration) {
  const Values values = directive_values(experiment, configuration);
  std::vector<std::string> lines;
  for (const std::string& directive : experiment.site.commands->directives) {
    std::optional<std::string> line = "";
    std::size_t at = 0;
    while (line && at < directive.size()) {
      const std::size_t begin = std::min(directive.find("[[", at), directive.size());
      const std::size_t end = begin == directive.size() ? begin : directive.find("]]", begin);
      const std::optional<std::string> plain = filled(experiment, values, directive.substr(at, begin - at));
      line = plain ? std::optional(*line + *plain) : std::nullopt;
      if (!line || end == directive.size()) break;
      *line += filled(experiment, values, directive.substr(begin + 2, end - begin - 2)).value_or("");
      at = end + 2;
    }
    if (line) lines.push_back(*std::move(line));
  }
  return lines;
}

std::string batch_system_script(const Experiment& experiment, const Configuration& configuration,
                                const RenderContext& context) {
  const BatchSystem& system = *experiment.site.commands;
  std::string text = "#!/bin/bash\n";
  for (const std::string& line : batch_directives(experiment, configuration)) text += line + '\n';
  text += fmt::format(
      "# One job for {}: hpcbench submits it once. The attempt is claimed first, so that it runs at most once.\n", system.name);
  text += "export HPCBENCH_TOKEN={{token}} HPCBENCH_HASH={{hash}}\n";
  if (system.job_variable) text += fmt::format("export HPCBENCH_JOB=\"${{{}-}}\"\n", *system.job_variable);
  return text + fmt::format("exec {} launch {{{{folder}}}}\n", shell_quote(context.hpcbench));
}

void check_batch_system(const Experiment& experiment, const Plan& plan) {
  if (!experiment.site.commands) {
    throw InputError(
        fmt::format("{}: error: `executor: commands` needs a site that describes the batch system\n"
                    "  = call with --site gridengine, pbs, lsf, flux or a file of your own",
                    experiment.place_of_key("executor")));
  }
  if (experiment.in_blocks()) {
    throw InputError(
        fmt::format("{}: error: `allocation: {{per: block}}` needs Slurm, or the executor local\n"
                    "  = remove `allocation`: each run is a job of its own",
                    experiment.place_of_key("allocation")));
  }
  for (const Preparation& preparation : experiment.preparations) {
    if (!preparation.on_job) continue;
    throw InputError(
        fmt::format("{}: error: `prepare.{}` has `on: job`, which needs Slurm\n  = remove it: `hpcbench run` "
                    "makes it where it is called",
                    experiment.place_of_key("prepare"), preparation.name));
  }
  for (const Configuration& configuration : plan.configurations) {
    const Work& work = *configuration.work;
    if (!work.resources.extra.empty()) {
      throw InputError(
          fmt::format("{}: error: `resources.extra` has options of sbatch, and the executor is commands\n"
                      "  = write lines in the site's `commands.directives`",
                      experiment.place_of_key("resources.extra")));
    }
    if (configuration.nodes > 1 && work.launch != Launch::once) {
      throw InputError(
          fmt::format("{}: error: {} has {} nodes, and the executor commands starts processes on the first one only\n"
                      "  = write `launch: once` and a command that reaches the others, such as [mpirun, -n, \"{{{{ranks}}}}\", "
                      "./a.out]",
                      experiment.place_of_key("launch"), plan.describe_point(configuration), configuration.nodes));
    }
    require_used(experiment, directive_values(experiment, configuration));
    batch_directives(experiment, configuration);
  }
}

}  // namespace hpcbench
