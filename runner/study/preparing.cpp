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
#include "plan/prepared.hpp"
#include "plan/select.hpp"
#include "runfiles/cancel_request.hpp"
#include "runfiles/layout.hpp"
#include "study/call.hpp"
#include "study/executors.hpp"
#include "study/listeners.hpp"
#include "study/watch_ends.hpp"
#include "submit/dispatcher.hpp"
#include "submit/events.hpp"

namespace hpcbench {

namespace {

constexpr double kLookS = 1;     // between looks at commands that were asked to end
constexpr int kLooksAtEnd = 20;  // at most

/// In the order in which they are made.
std::vector<std::size_t> needed_by(const Plan& plan, const std::vector<std::size_t>& configurations) {
  return instances_needed(keep_configurations(plan, configurations));
}

void refuse_outdated(const Study& study, const PreparedInstance& instance, const std::vector<std::string>& changed) {
  throw UnavailableError(fmt::format(
      "error: nothing was started: since `{}` was made, files that it is made of have changed: {}\n  = `hpcbench retry {} "
      "--prepare {}` makes it again; runs made with the older one stay, and the report warns of the mixture (`mixed-program`, "
      "`confounded`)",
      instance.name, join(changed, ", "), study.named(), instance.name));
}

}  // namespace

PreparationView::PreparationView(const Study& study, const Plan& plan) : plan_(plan) {
  for (const PreparedInstance& instance : plan.prepared)
    statuses_.push_back(preparation_status(study.results, instance, study.experiment.retries));
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

/// The instances that these configurations need, and those of the preparation that is asked for again that failed or whose
/// inputs have changed, also where no run waits for them: `run --repeats` has begun none, and sends people here.
std::vector<std::size_t> needed_or_due(const Plan& plan, const std::vector<std::size_t>& configurations,
                                       const std::string& name, FoundMade& found) {
  const std::vector<std::size_t> needed = needed_by(plan, configurations);
  if (name.empty()) return needed;
  std::set<std::size_t> all(needed.begin(), needed.end());
  const std::vector<std::size_t> of_plan = instances_needed(plan);
  for (auto i = of_plan.rbegin(); i != of_plan.rend(); ++i) {  // each stands after those that it needs
    const PreparedInstance& instance = plan.prepared[*i];
    if (instance.name == name && (found.status(*i).failed() || !found.outdated_inputs(*i).empty())) all.insert(*i);
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
    say(fmt::format("prepare: nothing of {} has failed or is out of date", name));
  return again;
}

}  // namespace

/// An instance that is being made: the run of a plan of its own.
class Preparing::Making : Listener {
 public:
  Making(const Preparing& of, std::size_t instance, bool by_job)
      : of_(of),
        name_(of.plan_.prepared[instance].name),
        by_job_(by_job),
        experiment_(preparation_experiment(of.study_.experiment, by_job ? of.study_.experiment.executor : "local")),
        plan_(preparation_plan(experiment_, of.plan_, instance)),
        log_(of.study_.results),
        events_(of.study_.results, {}, {&log_, this}),
        executor_(by_job ? of.call_.executors.of(of.study_) : of.call_.executors.workshop()),
        dispatcher_(experiment_, plan_, context(), executor_, of.call_.clock, events_) {
    dispatcher_.recover(preparation_attempts(of.study_.results, of.plan_.prepared[instance]));
  }

  /// A new attempt of it begins although one has ended.
  void again() { dispatcher_.retry({{plan_.configurations.front().id, {RunKind::preparation, 1}, 1}}); }
  /// False once it has ended.
  bool step() { return dispatcher_.step(); }
  bool is_submitted() const { return !dispatcher_.running().empty(); }
  bool is_here() const { return !by_job_; }
  /// Asks what runs to end.
  void end() {
    for (const AttemptKey& key : dispatcher_.running()) executor_.cancel(folder_of(key), {});
  }
  bool is_active() const {
    const std::vector<AttemptKey> running = dispatcher_.running();
    return std::any_of(running.begin(), running.end(), [&](const AttemptKey& key) {
      return executor_.status(folder_of(key), {}).kind == JobStatus::Kind::active;
    });
  }

 private:
  RenderContext context() const {
    RenderContext context = of_.context_;
    context.executor = experiment_.executor;
    if (!by_job_) context.array_template.clear();
    return context;
  }
  std::string folder_of(const AttemptKey& key) const { return of_.study_.results + "/" + to_string(key); }
  void intended(const std::string& /*batch*/, const std::vector<AttemptKey>& attempts) override { new_ = attempts.front(); }
  void submitted(const AttemptKey& attempt, const std::string& /*job*/) override {
    if (attempt != new_) return;  // an earlier call submitted it
    note(fmt::format("prepare: {} {}; its output goes to {}", name_, by_job_ ? "is submitted" : "begins", folder_of(attempt)));
  }
  void note(const std::string& text) override { of_.call_.progress.print(text); }

  const Preparing& of_;
  std::string name_;
  bool by_job_;
  Experiment experiment_;
  Plan plan_;
  LogListener log_;
  Events events_;
  Executor& executor_;
  std::optional<AttemptKey> new_;
  Dispatcher dispatcher_;
};

Preparing::Preparing(const Study& study, const Plan& plan, const std::vector<std::size_t>& configurations,
                     const std::string& again, bool detach, RenderContext& context, Call& call)
    : study_(study),
      plan_(plan),
      detach_(detach),
      context_(context),
      call_(call),
      state_(plan.prepared.size(), State::open),
      makings_(plan.prepared.size()) {
  FoundMade found(study, plan, context.call_folder);
  needed_ = needed_or_due(plan, configurations, again, found);
  again_ = asked_again(study, plan, needed_, again, found);
}

Preparing::~Preparing() = default;

Preparing::Step Preparing::step() {
  const Left left = look();
  if (!left.here && !left.by_jobs) return Step::done;
  if (interrupted() != 0) {
    end_here();
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
      if (interrupted() == 0 && has_ended(i, by_job)) continue;
      left.to_submit = left.to_submit || !by_job || !is_submitted(i);
    }
    (by_job ? left.by_jobs : left.here) = true;
  }
  return left;
}

bool Preparing::needs_any(std::size_t i, State state) const {
  const std::vector<std::size_t>& needs = plan_.prepared[i].needs;
  return std::any_of(needs.begin(), needs.end(), [&](const std::size_t other) { return state_[other] == state; });
}

/// The folders that a new attempt of it would be given.
std::vector<std::string> Preparing::needed_folders(std::size_t i) const {
  std::vector<std::string> folders;
  for (const std::size_t other : plan_.prepared[i].needs)
    folders.push_back(context_.prepared.at(plan_.prepared[other].folder()).folder);
  return folders;
}

/// Takes up what runs, begins what is due, and notes how it ended, once it has.
bool Preparing::has_ended(std::size_t i, bool by_job) {
  std::unique_ptr<Making>& making = makings_[i];
  if (!making) {
    const PreparationStatus status = status_of(i);
    const bool is_outdated = status.succeeded() && status.needs != needed_folders(i);
    const bool is_due = again_[i] || is_outdated;
    if (is_outcome(status.state) && !is_due) return note_end(i, status);
    // Its inputs are read when it is made: not while it would wait for a free slot.
    Executor& executor = by_job ? call_.executors.of(study_) : call_.executors.workshop();
    if (executor.free_slots() == 0 && status.state != hpcbench::State::submitted) return false;
    making = std::make_unique<Making>(*this, i, by_job);
    if (is_due) making->again();
    again_[i] = false;
  }
  if (making->step()) return false;
  making.reset();
  const PreparationStatus status = status_of(i);
  return is_outcome(status.state) && note_end(i, status);
}

PreparationStatus Preparing::status_of(std::size_t i) const {
  return preparation_status(study_.results, plan_.prepared[i], study_.experiment.retries);
}

bool Preparing::note_end(std::size_t i, const PreparationStatus& status) {
  state_[i] = status.succeeded() ? State::made : State::failed;
  if (status.succeeded()) {
    context_.prepared[plan_.prepared[i].folder()] = {run_dir_of(status.folder), status.inputs};
  } else {
    call_.progress.print(
        fmt::format("prepare: {} failed: {}; its output is in {}", plan_.prepared[i].name, status.why, status.folder));
  }
  return true;
}

bool Preparing::is_submitted(std::size_t i) const { return makings_[i] && makings_[i]->is_submitted(); }

void Preparing::end_here() {
  std::vector<Making*> here;
  for (const std::unique_ptr<Making>& making : makings_) {
    if (making && making->is_here() && making->is_submitted()) here.push_back(making.get());
  }
  if (here.empty()) return;
  for (Making* const making : here) making->end();
  const auto any_active = [&] {
    return std::any_of(here.begin(), here.end(), [](const Making* making) { return making->is_active(); });
  };
  for (int looks = 0; looks < kLooksAtEnd && any_active(); ++looks) call_.executors.workshop().wait(kLookS);
  call_.progress.print("prepare: what ran here was ended; `hpcbench run` makes it in a new folder");
}

/// How many instances jobs make without this call.
void Preparing::say_detached() const {
  const auto continues = [&](const std::size_t i) {
    return state_[i] == State::open && is_submitted(i) && !makings_[i]->is_here();
  };
  const long long count = std::count_if(needed_.begin(), needed_.end(), continues);
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

std::string except_unprepared(const Study& study) {
  return any_failed_preparation(study, study.selected()) ? ", but for those whose preparation failed or was cancelled" : "";
}

bool has_failed(const Study& study, const std::string& name) {
  const PreparationView view(study, study.selected());
  const std::vector<std::size_t> needed = instances_needed(study.selected());
  return std::any_of(needed.begin(), needed.end(),
                     [&](const std::size_t i) { return study.selected().prepared[i].name == name && view.status(i).failed(); });
}

std::vector<std::size_t> unfinished_preparations(const Study& study) {
  const PreparationView view(study, study.selected());
  std::vector<std::size_t> not_selected;
  for (std::size_t i = 0; i < study.plan.configurations.size(); ++i) {
    if (!study.selected().find(study.plan.configurations[i].id)) not_selected.push_back(i);
  }
  const std::vector<std::size_t> others = needed_by(study.plan, not_selected);
  std::vector<std::size_t> unfinished;
  for (const std::size_t i : instances_needed(study.selected())) {
    const bool others_need_it = std::find(others.begin(), others.end(), i) != others.end();
    if (view.status(i).state == State::submitted && !others_need_it) unfinished.push_back(i);
  }
  return unfinished;
}

bool end_preparations(const Study& study) {
  std::vector<AttemptState> here, by_jobs;
  for (const std::size_t i : unfinished_preparations(study)) {
    const PreparedInstance& instance = study.selected().prepared[i];
    for (const AttemptState& attempt : preparation_attempts(study.results, instance)) {
      if (is_outcome(attempt.state)) continue;
      (has_own_job(study.experiment, study.selected(), i) ? by_jobs : here).push_back(attempt);
    }
  }
  if (here.empty() && by_jobs.empty()) return true;
  LogListener log(study.results);
  Events events(study.results, {}, {&log});
  LocalExecutor processes(1, program_folder() + "/hpcbench");
  const std::unique_ptr<Executor> jobs = choose_executor(study, 1, say);
  long long ended = 0, revoked = 0;
  bool all_ended = true;
  for (const auto& [attempts, executor] :
       {std::pair(&here, static_cast<Executor*>(&processes)), std::pair(&by_jobs, jobs.get())}) {
    if (attempts->empty()) continue;
    // It says afterwards that a person ended it: without that the next call would make it again.
    for (const AttemptState& attempt : *attempts) request_cancel(study.results + "/" + to_string(attempt.key));
    const CancelCounts counts = cancel_attempts(study.results, *attempts, *executor, events);
    const std::size_t left = watch_ends(study, counts.asked, *executor, events);
    ended += static_cast<long long>(counts.asked.size() - left);
    revoked += counts.revoked;
    all_ended = all_ended && left == 0 && counts.unseen == 0;
  }
  say(fmt::format("preparations: {} running ended, {} not begun revoked. `{} --prepare NAME` makes them again.", ended, revoked,
                  study.command("retry")));
  return all_ended;
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
