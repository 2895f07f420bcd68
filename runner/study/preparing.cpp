#include "study/preparing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/host.hpp"
#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "plan/select.hpp"
#include "study/executors.hpp"
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

std::optional<std::size_t> PreparationView::unfinished_among(const std::vector<std::size_t>& instances) const {
  for (const std::size_t i : instances) {
    if (const auto deeper = unfinished_among(study_.selected().prepared[i].needs)) return deeper;
    if (statuses_[i].kind == PreparationStatus::Kind::unfinished) return i;
  }
  return std::nullopt;
}

std::string PreparationView::awaited(const Configuration& configuration) const {
  const std::optional<std::size_t> unfinished = unfinished_among(configuration.prepared);
  if (!unfinished) return "";
  return fmt::format("{} is being made in {}", study_.selected().prepared[*unfinished].name, statuses_[*unfinished].folder);
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

namespace {

/// Which of the needed instances get another attempt although they have one that ended.
std::vector<bool> asked_again(const Study& study, const std::vector<std::size_t>& needed, const std::string& name,
                              const std::string& call_folder) {
  const Plan& plan = study.selected();
  const PreparationView before(study);
  std::vector<bool> again(plan.prepared.size(), false);
  for (const std::size_t i : needed) {
    const PreparedInstance& instance = plan.prepared[i];
    const auto changed = outdated_inputs(study, instance, before.status(i), call_folder);
    if (!changed.empty() && instance.name != name) refuse_outdated(study, instance, changed);
    const bool failed = before.status(i).kind == PreparationStatus::Kind::failed;
    again[i] = instance.name == name && (failed || !changed.empty());
  }
  if (!name.empty() && std::find(again.begin(), again.end(), true) == again.end())
    say(fmt::format("prepare: of {} nothing that runs wait for has failed or is out of date", name));
  return again;
}

/// What makes the instances of a study: here, or by jobs.
class Workshop {
 public:
  Workshop(const Study& study, RenderContext& context)
      : study_(study),
        plan_(study.selected()),
        here_(1, program_folder() + "/hpcbench"),
        jobs_(choose_executor(study, 1, say)),
        made_here_(study.experiment, plan_, context, here_, say),
        made_by_jobs_(study.experiment, plan_, context, *jobs_, say),
        state_(plan_.prepared.size(), State::open) {}

  /// Looks at each of these once, in this order, and begins what can begin. True while something is left to do or to wait for.
  bool look(const std::vector<std::size_t>& needed, std::vector<bool>& again) {
    bool left = false;
    bool busy = false;  // here one at a time
    for (const std::size_t i : needed) {
      if (state_[i] != State::open || !can_begin(i)) continue;
      const bool by_job = has_own_job(study_.experiment, plan_, i);
      left = true;
      if (!by_job && busy) continue;
      bool once_more = again[i];
      const std::optional<PreparationStatus> status = (by_job ? made_by_jobs_ : made_here_).advance(i, once_more);
      again[i] = once_more;
      busy = busy || (!by_job && !status);
      if (status) note_end(i, *status);
    }
    busy_here_ = busy;
    return left;
  }
  bool busy_here() const { return busy_here_; }
  void end_here() { made_here_.end(); }
  void wait() {
    if (busy_here_) here_.wait(kLook);
    jobs_->wait(busy_here_ ? 0 : kLook);
  }
  /// What of these is left to jobs that go on without us.
  void say_detached(const std::vector<std::size_t>& needed) const {
    const auto goes_on = [&](const std::size_t i) {
      return state_[i] == State::open && can_begin(i) && has_own_job(study_.experiment, plan_, i);
    };
    const long long count = std::count_if(needed.begin(), needed.end(), goes_on);
    if (count == 0) return;
    say(
        fmt::format("detached: {} without this call; what needs {} is not submitted before that. `hpcbench run` carries on, "
                    "`hpcbench cancel` ends {}",
                    counted(count, "preparation is made", "preparations are made"), count == 1 ? "it" : "them",
                    count == 1 ? "it" : "them"));
  }

 private:
  enum class State { open, made, failed };
  static constexpr double kLook = 1;  // seconds

  bool can_begin(std::size_t i) const {
    const std::vector<std::size_t>& needs = plan_.prepared[i].needs;
    return std::all_of(needs.begin(), needs.end(), [&](const std::size_t other) { return state_[other] == State::made; });
  }
  void note_end(std::size_t i, const PreparationStatus& status) {
    state_[i] = status.succeeded() ? State::made : State::failed;
    if (status.succeeded()) return;
    say(fmt::format("prepare: {} failed: {}; its output is in {}", plan_.prepared[i].name, status.why, status.folder));
  }

  const Study& study_;
  const Plan& plan_;
  LocalExecutor here_;
  std::unique_ptr<Executor> jobs_;
  Preparer made_here_, made_by_jobs_;
  std::vector<State> state_;  // by instance
  bool busy_here_ = false;
};

}  // namespace

bool make_preparations(const Study& study, const std::vector<std::size_t>& configurations, const PreparationOptions& options,
                       RenderContext& context) {
  const std::vector<std::size_t> needed = needed_by(study, configurations);
  std::vector<bool> again = asked_again(study, needed, options.again, context.call_folder);
  if (needed.empty()) return true;
  Workshop workshop(study, context);
  while (workshop.look(needed, again)) {
    if (interrupted() != 0) {
      if (workshop.busy_here()) {
        workshop.end_here();
        say("prepare: what ran here was ended; `hpcbench run` makes it in a new folder");
      }
      workshop.say_detached(needed);
      return false;
    }
    if (options.detach && !workshop.busy_here()) {
      workshop.say_detached(needed);
      return true;
    }
    workshop.wait();
  }
  return true;
}

std::vector<std::size_t> unfinished_preparations(const Study& study) {
  const PreparationView view(study);
  std::vector<std::size_t> unfinished;
  for (std::size_t i = 0; i < study.selected().prepared.size(); ++i) {
    if (view.status(i).kind == PreparationStatus::Kind::unfinished) unfinished.push_back(i);
  }
  return unfinished;
}

bool end_preparations(const Study& study) {
  const PreparationView view(study);
  std::vector<std::string> here;
  std::vector<std::string> by_jobs;
  for (const std::size_t i : unfinished_preparations(study))
    (has_own_job(study.experiment, study.selected(), i) ? by_jobs : here).push_back(view.status(i).folder);
  if (here.empty() && by_jobs.empty()) return true;
  LocalExecutor processes(1, program_folder() + "/hpcbench");
  const std::unique_ptr<Executor> jobs = choose_executor(study, 1, say);
  PreparationCancels all = cancel_preparations(here, study.results, processes, system_clock());
  const PreparationCancels more = cancel_preparations(by_jobs, study.results, *jobs, system_clock());
  all.left.insert(all.left.end(), more.left.begin(), more.left.end());
  say(fmt::format("preparations: {} running ended, {} not begun revoked. `hpcbench retry --prepare NAME` makes them again.",
                  all.ended + more.ended, all.revoked + more.revoked));
  for (const std::string& folder : all.left) say(fmt::format("{} was asked to end and not seen to end yet", folder));
  return all.left.empty();
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
                           status.kind != PreparationStatus::Kind::open         ? "would be taken up"
                           : has_own_job(study.experiment, study.selected(), i) ? "would be made by a job"
                                                                                : "would be made");
    }
    const auto changed = outdated_inputs(study, instance, status, std::filesystem::current_path().string());
    if (!changed.empty()) refuse_outdated(study, instance, changed);
  }
  return lines;
}

}  // namespace hpcbench
