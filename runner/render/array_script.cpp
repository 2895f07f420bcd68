#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/text.hpp"
#include "render/attempt.hpp"
#include "render/batch_system_script.hpp"
#include "render/job_template.hpp"
#include "render/packing.hpp"

namespace hpcbench {

namespace {

constexpr double kShortestWarning = 10;  // seconds from the signal to the time limit
constexpr double kLongestWarning = 60;
constexpr long kSecondsPerMinute = 60;

/// The value of an option in an #SBATCH line, which is no shell: sbatch knows quotes and takes ` #` for a comment.
/// `key`: what says it, as in Experiment::origins.
std::string sbatch_value(const Experiment& experiment, const std::string& key, const std::string& value) {
  constexpr std::string_view kPlain = "_.,:;=/+*&|()[]@%^<>~-!";
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (value.empty() || std::any_of(value.begin(), value.end(), is_control) ||
      value.find_first_of("\"'\\`$") != std::string::npos) {
    throw InputError(
        fmt::format("{}: error: {} {} cannot stand in a line of a batch script: quotes, `\\`, `$` and control "
                    "characters are not allowed there",
                    experiment.place_of_key(key), key.starts_with("site.") ? key.substr(5) : key, json_quote(value)));
  }
  const bool plain = std::all_of(value.begin(), value.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
  });
  return plain ? value : "\"" + value + "\"";
}

/// Slurm counts whole minutes: `2-03:04:00`.
std::string slurm_time(double seconds) {
  const long minutes = static_cast<long>(std::ceil(seconds / kSecondsPerMinute));
  const long days = minutes / 1440;
  const std::string clock = fmt::format("{:02}:{:02}:00", minutes / 60 % 24, minutes % 60);
  return days > 0 ? fmt::format("{}-{}", days, clock) : clock;
}

std::optional<std::string> gpu_option(const Experiment& experiment, const Configuration& configuration, int lanes) {
  const Site& site = experiment.site;
  std::optional<std::string> gres = configuration.work->resources.gres;
  if (gres && lanes > 1) gres = times_gres(*gres, lanes);
  if (gres) return "--gres=" + sbatch_value(experiment, "resources.gres", *gres);
  const int gpus = lanes * configuration.gpus_per_node;
  if (gpus == 0) return std::nullopt;
  if (site.gres_type == "none") return std::nullopt;
  if (site.gres_type) return fmt::format("--gres=gpu:{}:{}", sbatch_value(experiment, "site.gres_type", *site.gres_type), gpus);
  return fmt::format("--gpus-per-node={}", gpus);
}

/// With these lines for the time limit, for so many runs at a time.
std::vector<std::string> options_of(const Experiment& experiment, const Configuration& configuration,
                                    const std::vector<std::string>& time_lines, int lanes = 1) {
  const Site& site = experiment.site;
  const Work& work = *configuration.work;
  std::vector<std::string> options;
  const auto add = [&](const std::string& key, const std::optional<std::string>& value) {
    if (value) options.push_back(fmt::format("--{}={}", key.substr(key.find('.') + 1), sbatch_value(experiment, key, *value)));
  };
  if (work.partition) {
    add("partition", work.partition);
  } else {
    add("site.partition", site.partition);
  }
  add("site.account", site.account);
  add("site.qos", site.qos);
  add("site.reservation", site.reservation);
  const SlurmShape shape = slurm_shape(configuration);
  options.push_back(fmt::format("--nodes={}", configuration.nodes));
  options.push_back(fmt::format("--ntasks-per-node={}", lanes * shape.tasks_per_node));
  options.push_back(fmt::format("--cpus-per-task={}", shape.cpus_per_task));
  if (const std::optional<std::string> gpus = gpu_option(experiment, configuration, lanes)) options.push_back(*gpus);
  const std::optional<std::string>& memory = work.resources.mem;
  add("resources.mem", memory && lanes > 1 ? times_memory(*memory, lanes) : memory);
  options.insert(options.end(), time_lines.begin(), time_lines.end());
  add("resources.constraint", work.resources.constraint);
  if (work.resources.exclusive) options.emplace_back("--exclusive");
  for (const auto& [key, extra] : {std::pair{"site.extra", &site.extra}, std::pair{"resources.extra", &work.resources.extra}}) {
    for (const std::string& option : *extra) {
      const std::size_t equals = option.find('=');
      const std::string name = equals == std::string::npos ? "" : option.substr(0, equals + 1);
      options.push_back(name + sbatch_value(experiment, key, option.substr(name.size())));
    }
  }
  return options;
}

}  // namespace

std::vector<std::string> slurm_options(const Experiment& experiment, const Configuration& configuration) {
  const std::optional<double>& time_s = configuration.work->resources.time_s;
  if (!time_s) return options_of(experiment, configuration, {});
  const double warning_s = std::clamp(*time_s / 10, kShortestWarning, kLongestWarning);
  return options_of(experiment, configuration,
                    {"--time=" + slurm_time(*time_s), fmt::format("--signal=B:USR1@{}", static_cast<long>(warning_s))});
}

std::vector<std::string> slurm_block_options(const Experiment& experiment, const Configuration& configuration,
                                             std::optional<double> time_s, int lanes) {
  return options_of(experiment, configuration,
                    time_s ? std::vector<std::string>{"--time=" + slurm_time(*time_s)} : std::vector<std::string>(), lanes);
}

SlurmShape slurm_shape(const Configuration& configuration) {
  const int cpus = configuration.work->resources.cpus_per_task;
  // One process a node has the cores of all its ranks.
  if (configuration.work->launch == Launch::node) return {1, cpus * configuration.node_ranks()};
  return {configuration.node_ranks(), cpus};
}

std::string slurm_job_name(const std::string& experiment, const std::string& batch) { return experiment + "." + batch; }

std::vector<std::string> batch_options(const Experiment& experiment, const Configuration& configuration,
                                       const RenderContext& context) {
  if (executor_kind(context.executor).described) return batch_directives(experiment, configuration);
  return context.array_template.empty() ? std::vector<std::string>() : slurm_options(experiment, configuration);
}

std::string batch_script_path(const std::string& batch) { return "batches/" + batch + "/job.sh"; }

std::string render_array_script(const Experiment& experiment, const std::vector<std::string>& options, const std::string& batch,
                                int count, const RenderContext& context, bool blocks) {
  // What we rely on stands before `extra`: an option there that lacks its value takes the next line for it.
  std::vector<std::string> lines = {"--job-name=" + slurm_job_name(experiment.name, batch), "--no-requeue",
                                    "--open-mode=append", fmt::format("--output=batches/{}/slurm-%A_%a.out", batch)};
  lines.insert(lines.end(), options.begin(), options.end());
  const std::optional<int>& most = experiment.site.max_running;
  TemplateValues values;
  values.texts = {{"title", experiment.name + " " + batch},
                  {"count", std::to_string(count)},
                  {"last", std::to_string(count - 1) + (most ? fmt::format("%{}", *most) : "")},
                  {"results", context.results},
                  {"hpcbench", context.hpcbench},
                  {"batch_dir", context.results + "/batches/" + batch},
                  {"script", batch_script_path(batch)}};
  values.flags = {{"blocks", blocks}};
  values.lists = {{"options", lines}, {"hashes", {}}};
  if (!context.hashes_sha256.empty()) values.lists.back().second.push_back(context.hashes_sha256);
  return ShellTemplate(context.array_template, "slurm_array.sh.mustache").render(values);
}

}  // namespace hpcbench
