#include "study/preparing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/host.hpp"
#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "executors/local/local_executor.hpp"
#include "plan/select.hpp"
#include "runfiles/layout.hpp"
#include "study/call.hpp"
#include "study/executors.hpp"

namespace hpcbench {

namespace {

/// In the order in which they are made.
std::vector<std::size_t> needed_by(const Plan& plan, const std::vector<std::size_t>& configurations) {
  return instances_needed(keep_configurations(plan, configurations));
}

void refuse_outdated(const Study& study, const PreparedInstance& instance, const std::vector<std::string>& changed) {
  throw UnavailableError(fmt::format(
      "error: nothing was started: since `{}` was made, files that it is made of have changed: {}\n  = `hpcbench retry {} "
      "--prepare {}` makes it again; runs made with the older one stay, and the report calls them `confounded`",
      instance.name, join(changed, ", "), study.named(), instance.name));
}

}  // namespace

PreparationView::PreparationView(const Study& study, const Plan& plan) : plan_(plan) {
  for (const PreparedInstance& instance : plan.prepared)
    statuses_.push_back(preparation_status(study.results, instance, study.experiment.retries.lost));
}

std::optional<std::size_t> PreparationView::failed_among(const std::vector<std::size_t>& instances) const {
  for (const std::size_t i : instances) {
    if (const auto deeper = failed_among(plan_.prepared[i].needs)) return deeper;
    if (statuses_[i].failed()) return i;
  }
  return std::nullopt;
}

std::optional<std::size_t> PreparationView::unfinished_among(const std::vector<std::size_t>& instances) const {
  for (const std::size_t i : instances) {
    if (const auto deeper = unfinished_among(plan_.prepared[i].needs)) return deeper;
    if (statuses_[i].state == State::submitted) return i;
  }
  return std::nullopt;
}

std::string PreparationView::awaited(const Configuration& configuration) const {
  const std::optional<std::size_t> unfinished = unfinished_among(configuration.prepared);
  if (!unfinished) return "";
  return fmt::format("{} is being made in {}", plan_.prepared[*unfinished].name, statuses_[*unfinished].folder);
}

std::string PreparationView::obstacle(const Configuration& configuration) const {
  const std::optional<std::size_t> failed = failed_among(configuration.prepared);
  if (!failed) return "";
  const PreparationStatus& status = statuses_[*failed];
  return fmt::format("{} failed ({}); its output is in {}", plan_.prepared[*failed].name, status.why, status.folder);
}

void require_preparation(const Study& study, const std::string& name) {
  std::vector<std::string> names;
  for (const Preparation& each : study.experiment.preparations) names.push_back(each.name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  throw InputError(fmt::format("error: --prepare {}: {} has no preparation of this name{}; there are: {}", name,
                               study.experiment.path, did_you_mean(name, names), names.empty() ? "none" : join(names, ", ")));
}

namespace {

/// What the call finds made, before it makes anything. The inputs of each instance are read once.
class FoundMade {
 public:
  FoundMade(const Study& study, const Plan& plan, std::string call_folder)
      : study_(study), plan_(plan), call_folder_(std::move(call_folder)), view_(study, plan) {}

  const PreparationStatus& status(std::size_t i) const { return view_.status(i); }
  /// The files of an instance that was made that are no longer those that it was made of.
  const std::vector<std::string>& outdated_inputs(std::size_t i) {
    const auto [found, first_asked] = outdated_.try_emplace(i);
    if (first_asked && view_.status(i).succeeded()) {
      const Preparation& definition = study_.experiment.preparations[plan_.prepared[i].definition];
      found->second = changed_inputs(view_.status(i).inputs, input_files(definition, call_folder_));
    }
    return found->second;
  }

 private:
  const Study& study_;
  const Plan& plan_;
  std::string call_folder_;
  PreparationView view_;
  std::map<std::size_t, std::vector<std::string>> outdated_;
};

/// The instances that these configurations need, and those of the preparation that is asked for again whose inputs have
/// changed, also where no run waits for them: `run --repeats` has refused to begin any, and sends people here.
std::vector<std::size_t> needed_or_outdated(const Plan& plan, const std::vector<std::size_t>& configurations,
                                            const std::string& name, FoundMade& found) {
  const std::vector<std::size_t> needed = needed_by(plan, configurations);
  if (name.empty()) return needed;
  std::set<std::size_t> all(needed.begin(), needed.end());
  const std::vector<std::size_t> of_plan = instances_needed(plan);
  for (auto i = of_plan.rbegin(); i != of_plan.rend(); ++i) {  // each stands after those that it needs
    const PreparedInstance& instance = plan.prepared[*i];
    if (instance.name == name && !found.outdated_inputs(*i).empty()) all.insert(*i);
    if (all.contains(*i)) all.insert(instance.needs.begin(), instance.needs.end());
  }
  return {all.begin(), all.end()};
}

/// Which of the needed instances get another attempt although they have one that ended.
std::vector<bool> asked_again(const Study& study, const Plan& plan, const std::vector<std::size_t>& needed,
                              const std::string& name, FoundMade& found) {
  std::vector<bool> again(plan.prepared.size(), false);
  for (const std::size_t i : needed) {
    const PreparedInstance& instance = plan.prepared[i];
    const std::vector<std::string>& changed = found.outdated_inputs(i);
    if (!changed.empty() && instance.name != name) refuse_outdated(study, instance, changed);
    const bool failed = found.status(i).failed();
    again[i] = instance.name == name && (failed || !changed.empty());
  }
  if (!name.empty() && std::find(again.begin(), again.end(), true) == again.end())
    say(fmt::format("prepare: of {} nothing that runs wait for has failed or is out of date", name));
  return again;
}

}  // namespace

Preparing::Preparing(const Study& study, const Plan& plan, const std::vector<std::size_t>& configurations,
                     const std::string& again, bool detach, RenderContext& context, Call& call)
    : study_(study),
      plan_(plan),
      detach_(detach),
      call_(call),
      made_here_(study.experiment, plan, context, call.executors.workshop(),
                 [&call](const std::string& text) { call.progress.print(text); }),
      made_by_jobs_(study.experiment, plan, context, call.executors.of(study),
                    [&call](const std::string& text) { call.progress.print(text); }),
      state_(plan.prepared.size(), State::open) {
  FoundMade found(study, plan, context.call_folder);
  needed_ = needed_or_outdated(plan, configurations, again, found);
  again_ = asked_again(study, plan, needed_, again, found);
}

Preparing::Step Preparing::step() {
  const Left left = look();
  if (!left.here && !left.by_jobs) return Step::done;
  if (interrupted() != 0) {
    leave();
    say_detached();
    return Step::interrupted;
  }
  if (detach_ && !left.to_submit) {
    say_detached();
    return Step::done;
  }
  if (!left.here) {
    making_here_.reset();
  } else if (!making_here_) {
    making_here_.emplace(call_.making_here, study_.experiment.name);
  }
  return Step::waits;
}

/// Looks at each instance once, in their order, and begins what can begin. Returns what is left to do or to wait for.
Preparing::Left Preparing::look() {
  Left left;
  for (const std::size_t i : needed_) {
    if (state_[i] == State::open && needs_any(i, State::failed)) state_[i] = State::failed;
    if (state_[i] != State::open) continue;
    const bool by_job = has_own_job(study_.experiment, plan_, i);
    if (!needs_any(i, State::open)) {
      Preparer& maker = by_job ? made_by_jobs_ : made_here_;
      bool once_more = again_[i];
      const std::optional<PreparationStatus> status = maker.advance(i, once_more);
      again_[i] = once_more;
      if (status) note_end(i, *status);
      if (status) continue;
      left.to_submit = left.to_submit || !by_job || !maker.is_submitted(i);
    }
    (by_job ? left.by_jobs : left.here) = true;
  }
  return left;
}

bool Preparing::needs_any(std::size_t i, State state) const {
  const std::vector<std::size_t>& needs = plan_.prepared[i].needs;
  return std::any_of(needs.begin(), needs.end(), [&](const std::size_t other) { return state_[other] == state; });
}

void Preparing::note_end(std::size_t i, const PreparationStatus& status) {
  state_[i] = status.succeeded() ? State::made : State::failed;
  if (status.succeeded()) return;
  call_.progress.print(
      fmt::format("prepare: {} failed: {}; its output is in {}", plan_.prepared[i].name, status.why, status.folder));
}

void Preparing::leave() {
  made_by_jobs_.revoke_unsubmitted();
  if (made_here_.end()) call_.progress.print("prepare: what ran here was ended; `hpcbench run` makes it in a new folder");
}

/// How many instances jobs make without this call.
void Preparing::say_detached() const {
  const auto goes_on = [&](const std::size_t i) { return state_[i] == State::open && made_by_jobs_.is_submitted(i); };
  const long long count = std::count_if(needed_.begin(), needed_.end(), goes_on);
  if (count == 0) return;
  call_.progress.print(fmt::format(
      "detached: {} without this call; what needs {} is not submitted before that. `hpcbench run` carries on, "
      "`hpcbench cancel` ends {}",
      counted(count, "preparation is made", "preparations are made"), count == 1 ? "it" : "them", count == 1 ? "it" : "them"));
}

RunnablePart find_runnable(const Study& study, const Plan& plan, const std::vector<std::size_t>& configurations,
                           const RenderContext& context) {
  if (plan.prepared.empty()) return {};
  const PreparationView view(study, plan);
  std::vector<bool> left_out(plan.configurations.size(), false);
  bool awaits = false;
  for (const std::size_t i : configurations) {
    const Configuration& configuration = plan.configurations[i];
    const bool made = std::all_of(configuration.prepared.begin(), configuration.prepared.end(), [&](const std::size_t each) {
      return context.prepared.contains(plan.prepared[each].folder());
    });
    left_out[i] = !made;
    awaits = awaits || (!made && view.obstacle(configuration).empty());
  }
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    if (!left_out[i]) kept.push_back(i);
  }
  return {keep_configurations(plan, kept), awaits};
}

bool any_failed_preparation(const Study& study, const Plan& plan) {
  const PreparationView view(study, plan);
  const std::vector<Configuration>& all = plan.configurations;
  return std::any_of(all.begin(), all.end(), [&](const Configuration& each) { return !view.obstacle(each).empty(); });
}

std::vector<std::size_t> unfinished_preparations(const Study& study) {
  const PreparationView view(study, study.selected());
  std::vector<std::size_t> unfinished;
  for (std::size_t i = 0; i < study.selected().prepared.size(); ++i) {
    if (view.status(i).state == State::submitted) unfinished.push_back(i);
  }
  return unfinished;
}

bool end_preparations(const Study& study) {
  const PreparationView view(study, study.selected());
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
  say(fmt::format("preparations: {} running ended, {} not begun revoked. `{} --prepare NAME` makes them again.",
                  all.ended + more.ended, all.revoked + more.revoked, study.command("retry")));
  for (const std::string& folder : all.left) say(fmt::format("{} was asked to end and not seen to end yet", folder));
  return all.left.empty();
}

std::vector<std::string> not_begun_lines(const Study& study, const std::vector<AttemptState>& runs) {
  if (study.selected().prepared.empty()) return {};
  const PreparationView view(study, study.selected());
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
    lines.push_back(fmt::format("{} not begun: {}. Mend it, then `{} --prepare {}`", counted(count, "run", "runs"), why,
                                study.command("retry"), why.substr(0, why.find(' '))));
  }
  return lines;
}

void find_made_preparations(const Study& study, RenderContext& context) {
  const PreparationView view(study, study.selected());
  for (std::size_t i = 0; i < study.selected().prepared.size(); ++i) {
    const PreparationStatus& status = view.status(i);
    if (status.succeeded())
      context.prepared[study.selected().prepared[i].folder()] = {run_dir_of(status.folder), status.inputs};
  }
}

std::string list_preparations(const Study& study, const Plan& plan, const std::vector<std::size_t>& configurations) {
  FoundMade found(study, plan, std::filesystem::current_path().string());
  std::string lines;
  for (const std::size_t i : needed_by(plan, configurations)) {
    const PreparedInstance& instance = plan.prepared[i];
    const PreparationStatus& status = found.status(i);
    if (status.failed()) {
      lines += fmt::format("prepare {}: failed ({}); `{} --prepare {}` tries it again\n", instance.folder(), status.why,
                           study.command("retry"), instance.name);
    } else if (!status.succeeded()) {
      lines += fmt::format("prepare {}: {}\n", instance.folder(),
                           status.state != State::planned           ? "would be taken up"
                           : has_own_job(study.experiment, plan, i) ? "would be made by a job"
                                                                    : "would be made");
    }
    const std::vector<std::string>& changed = found.outdated_inputs(i);
    if (!changed.empty()) refuse_outdated(study, instance, changed);
  }
  return lines;
}

}  // namespace hpcbench
