#include "study/preparing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_map>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "plan/select.hpp"
#include "submit/local_executor.hpp"

namespace hpcbench {

namespace {

/// In the order in which they are made.
std::vector<std::size_t> needed_by(const Study& study, const std::vector<std::size_t>& configurations) {
  return instances_needed(keep_configurations(study.selected(), configurations));
}

/// The files of an instance that are no longer those that it was made of.
std::vector<std::string> outdated_inputs(const Study& study, const PreparedInstance& instance, const PreparationStatus& status,
                                         const std::string& folder) {
  if (!status.succeeded()) return {};
  return changed_inputs(status.inputs, input_files(study.experiment.preparations[instance.definition], folder));
}

void refuse_outdated(const Study& study, const PreparedInstance& instance, const std::vector<std::string>& changed) {
  throw UnavailableError(fmt::format(
      "error: nothing was started: since `{}` was made, files that it is made of have changed: {}\n  = `hpcbench retry {} "
      "--prepare {}` makes it again; runs made with the older one stay, and the report calls them `confounded`",
      instance.name, join(changed, ", "), study.experiment.path, instance.name));
}

}  // namespace

PreparationView::PreparationView(const Study& study) : study_(study) {
  for (const PreparedInstance& instance : study.selected().prepared)
    statuses_.push_back(preparation_status(study.results, instance, study.experiment.retries.lost));
}

std::optional<std::size_t> PreparationView::failed_among(const std::vector<std::size_t>& instances) const {
  for (const std::size_t i : instances) {
    if (const auto deeper = failed_among(study_.selected().prepared[i].needs)) return deeper;
    if (statuses_[i].kind == PreparationStatus::Kind::failed) return i;
  }
  return std::nullopt;
}

std::string PreparationView::obstacle(const Configuration& configuration) const {
  const std::optional<std::size_t> failed = failed_among(configuration.prepared);
  if (!failed) return "";
  const PreparationStatus& status = statuses_[*failed];
  return fmt::format("{} failed ({}); its output is in {}", study_.selected().prepared[*failed].name, status.why,
                     status.folder);
}

void require_preparation(const Study& study, const std::string& name) {
  std::vector<std::string> names;
  for (const Preparation& each : study.experiment.preparations) names.push_back(each.name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  throw InputError(fmt::format("error: --prepare {}: {} has no preparation of this name{}; there are: {}", name,
                               study.experiment.path, did_you_mean(name, names), names.empty() ? "none" : join(names, ", ")));
}

bool make_preparations(const Study& study, const std::vector<std::size_t>& configurations, const PreparationOptions& options,
                       RenderContext& context) {
  const Plan& plan = study.selected();
  const std::vector<std::size_t> needed = needed_by(study, configurations);
  const PreparationView before(study);
  std::vector<bool> again(plan.prepared.size(), false);
  for (const std::size_t i : needed) {
    const PreparedInstance& instance = plan.prepared[i];
    const auto changed = outdated_inputs(study, instance, before.status(i), context.call_folder);
    if (!changed.empty() && instance.name != options.again) refuse_outdated(study, instance, changed);
    const bool failed = before.status(i).kind == PreparationStatus::Kind::failed;
    again[i] = instance.name == options.again && (failed || !changed.empty());
  }
  if (!options.again.empty() && std::find(again.begin(), again.end(), true) == again.end())
    say(fmt::format("prepare: of {} nothing that runs wait for has failed or is out of date", options.again));
  if (needed.empty()) return true;
  LocalExecutor executor(1, program_folder() + "/hpcbench");
  Preparer preparer(study.experiment, plan, context, executor, [](const std::string& text) { say(text); });
  std::vector<bool> made(plan.prepared.size(), false);
  for (const std::size_t i : needed) {
    const PreparedInstance& instance = plan.prepared[i];
    const bool ready =
        std::all_of(instance.needs.begin(), instance.needs.end(), [&](const std::size_t other) { return made[other]; });
    if (!ready) continue;
    const std::optional<PreparationStatus> status = preparer.make(i, again[i]);
    if (!status) {
      say(fmt::format("prepare: {} was ended; `hpcbench run` makes it in a new folder", instance.name));
      return false;
    }
    made[i] = status->succeeded();
    if (!made[i]) say(fmt::format("prepare: {} failed: {}; its output is in {}", instance.name, status->why, status->folder));
  }
  return true;
}

std::vector<std::string> not_begun_lines(const Study& study, const std::vector<AttemptState>& runs) {
  if (study.selected().prepared.empty()) return {};
  const PreparationView view(study);
  const int repeats = study.selected().repeats;
  std::unordered_map<std::string, long long> begun;
  for (const AttemptState& run : runs) begun[run.key.config_id] += run.key.run.is_repeat() && run.key.run.number <= repeats;
  std::map<std::string, long long> left;
  for (const Configuration& configuration : study.selected().configurations) {
    const std::string obstacle = view.obstacle(configuration);
    const long long open = repeats - begun[configuration.id];
    if (!obstacle.empty() && open > 0) left[obstacle] += open;
  }
  std::vector<std::string> lines;
  for (const auto& [why, count] : left) {
    lines.push_back(fmt::format("{} not begun: {}. Mend it, then `hpcbench retry --prepare {}`", counted(count, "run", "runs"),
                                why, why.substr(0, why.find(' '))));
  }
  return lines;
}

void find_made_preparations(const Study& study, RenderContext& context) {
  const PreparationView view(study);
  for (std::size_t i = 0; i < study.selected().prepared.size(); ++i) {
    const PreparationStatus& status = view.status(i);
    if (status.succeeded()) context.prepared[study.selected().prepared[i].folder()] = {status.folder, status.inputs};
  }
}

std::string list_preparations(const Study& study, const std::vector<std::size_t>& configurations) {
  const PreparationView view(study);
  std::string lines;
  for (const std::size_t i : needed_by(study, configurations)) {
    const PreparedInstance& instance = study.selected().prepared[i];
    const PreparationStatus& status = view.status(i);
    if (status.kind == PreparationStatus::Kind::failed) {
      lines += fmt::format("prepare {}: failed ({}); `hpcbench retry --prepare {}` tries it again\n", instance.folder(),
                           status.why, instance.name);
    } else if (!status.succeeded()) {
      lines += fmt::format("prepare {}: {}\n", instance.folder(),
                           status.kind == PreparationStatus::Kind::open ? "would be made" : "would be taken up");
    }
    const auto changed = outdated_inputs(study, instance, status, std::filesystem::current_path().string());
    if (!changed.empty()) refuse_outdated(study, instance, changed);
  }
  return lines;
}

}  // namespace hpcbench
