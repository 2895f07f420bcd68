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

PreparationView::PreparationView(const Study& study, const Plan& plan) : study_(study), plan_(plan) {
  for (const PreparedInstance& instance : plan.prepared)
    statuses_.push_back(preparation_status(study.experiment, study.results, instance));
}

std::optional<std::size_t> PreparationView::find_any(const std::vector<std::size_t>& instances, State state) const {
  for (const std::size_t i : instances) {
    if (const auto deeper = find_any(plan_.prepared[i].needs, state)) return deeper;
    if (statuses_[i].state == state) return i;
  }
  return std::nullopt;
}

std::string PreparationView::awaited(const Configuration& configuration) const {
  const std::optional<std::size_t> unfinished = find_any(configuration.prepared, State::submitted);
  if (!unfinished) return "";
  return fmt::format("{} is being made in {}", plan_.prepared[*unfinished].name, statuses_[*unfinished].folder);
}

std::string PreparationView::obstacle(const Configuration& configuration) const {
  const std::optional<std::size_t> failed = find_any(configuration.prepared, State::failed);
  if (!failed) return "";
  const PreparationStatus& status = statuses_[*failed];
  return fmt::format("{} failed ({}); its output is in {}", plan_.prepared[*failed].name, status.why, status.folder);
}

std::vector<std::string> PreparationView::outdated_inputs(std::size_t instance, const std::string& call_folder) const {
  if (!statuses_[instance].succeeded()) return {};
  const Preparation& definition = study_.experiment.preparations[plan_.prepared[instance].definition];
  return changed_inputs(statuses_[instance].inputs, input_files(definition, call_folder));
}

void require_preparation(const Study& study, const std::string& name) {
  std::vector<std::string> names;
  for (const Preparation& each : study.experiment.preparations) names.push_back(each.name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  throw InputError(fmt::format("error: --prepare {}: {} has no preparation of this name{}; there are: {}", name,
                               study.experiment.path, did_you_mean(name, names), names.empty() ? "none" : join(names, ", ")));
}

/// An instance that is being made: the run of a plan of its own.
class Preparing::Making : Listener {
 public:
  Making(const Preparing& of, std::size_t instance, bool by_job, Executor& executor)
      : of_(of),
        name_(of.plan_.prepared[instance].name),
        by_job_(by_job),
        experiment_(preparation_experiment(of.study_.experiment, by_job ? of.study_.experiment.executor : "local")),
        plan_(preparation_plan(experiment_, of.plan_, instance)),
        log_(of.study_.results),
        events_(of.study_.results, {}, {&log_, this}),
        executor_(executor),
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
    return std::any_of(running.begin(), running.end(),
                       [&](const AttemptKey& key) { return hpcbench::is_active(executor_.status(folder_of(key), {}).state); });
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
      again_(plan.prepared.size(), false),
      states_(plan.prepared.size(), State::planned),
      makings_(plan.prepared.size()),
      needed_(choose(configurations, again)) {}

Preparing::~Preparing() = default;

/// The instances that these configurations need, and those of the preparation `again` that failed or whose inputs have changed,
/// also where no run waits for them: `run --repeats` has begun none, and sends people here.
std::vector<std::size_t> Preparing::choose(const std::vector<std::size_t>& configurations, const std::string& again) {
  const PreparationView view(study_, plan_);
  std::vector<bool> needed(plan_.prepared.size(), false);
  for (const std::size_t i : needed_by(plan_, configurations)) needed[i] = true;
  const std::vector<std::size_t> all = instances_needed(plan_);
  for (auto i = all.rbegin(); i != all.rend(); ++i) {  // each stands after those that it needs
    const PreparedInstance& instance = plan_.prepared[*i];
    const bool is_named = instance.name == again;
    const std::vector<std::string> changed =
        needed[*i] || is_named ? view.outdated_inputs(*i, context_.call_folder) : std::vector<std::string>();
    if (!changed.empty() && !is_named) refuse_outdated(study_, instance, changed);
    again_[*i] = is_named && (view.status(*i).failed() || !changed.empty());
    needed[*i] = needed[*i] || again_[*i];
    for (const std::size_t other : instance.needs) needed[other] = needed[other] || needed[*i];
  }
  if (!again.empty() && std::find(again_.begin(), again_.end(), true) == again_.end())
    say(fmt::format("prepare: nothing of {} has failed or is out of date", again));
  std::vector<std::size_t> chosen = all;
  std::erase_if(chosen, [&](const std::size_t i) { return !needed[i]; });
  return chosen;
}

/// Looks at each instance once, in their order.
Pace Preparing::step() {
  bool here = false, by_jobs = false, to_submit = false;
  for (const std::size_t i : needed_) {
    if (!is_outcome(states_[i]) && needs_any(i, State::failed)) states_[i] = State::failed;
    if (is_outcome(states_[i])) continue;
    const bool by_job = has_own_job(study_.experiment, plan_, i);
    if (!needs_any(i, State::planned)) {
      if (interrupted() == 0 && has_ended(i)) continue;
      to_submit = to_submit || !by_job || !is_submitted(i);
    }
    (by_job ? by_jobs : here) = true;
  }
  if (!here && !by_jobs) return Pace::again;
  const bool is_interrupted = interrupted() != 0;
  if (is_interrupted) end_here();
  if (is_interrupted || (detach_ && !to_submit)) {
    say_detached();
    return is_interrupted ? Pace::ended : Pace::again;
  }
  if (!here) making_here_.reset();
  if (here && !making_here_) making_here_.emplace(call_.making_here, study_.experiment.name);
  return Pace::wait;
}

bool Preparing::needs_any(std::size_t i, State state) const {
  const std::vector<std::size_t>& needs = plan_.prepared[i].needs;
  return std::any_of(needs.begin(), needs.end(), [&](const std::size_t other) { return states_[other] == state; });
}

/// Whether a new attempt would be given other folders than the one that counts.
bool Preparing::needs_others(std::size_t i, const PreparationStatus& status) const {
  const std::vector<std::size_t>& needs = plan_.prepared[i].needs;
  return !std::equal(needs.begin(), needs.end(), status.needs.begin(), status.needs.end(),
                     [&](const std::size_t other, const std::string& folder) {
                       return context_.prepared.at(plan_.prepared[other].folder()).folder == folder;
                     });
}

/// Takes up what runs, begins what is due, and notes how it ended, once it has.
bool Preparing::has_ended(std::size_t i) {
  std::unique_ptr<Making>& making = makings_[i];
  const auto status = [&] { return preparation_status(study_.experiment, study_.results, plan_.prepared[i]); };
  if (!making) {
    const PreparationStatus before = status();
    const bool is_due = again_[i] || (before.succeeded() && needs_others(i, before));
    if (is_outcome(before.state) && !is_due) return note_end(i, before);
    const bool by_job = has_own_job(study_.experiment, plan_, i);
    Executor& executor = by_job ? call_.executors.of(study_) : call_.executors.workshop();
    // Its inputs are read when it is made: not while it would wait for a free slot.
    if (executor.free_slots() == 0 && before.state != State::submitted) return false;
    making = std::make_unique<Making>(*this, i, by_job, executor);
    if (is_due) making->again();
    again_[i] = false;
  }
  if (making->step()) return false;
  making.reset();
  const PreparationStatus after = status();
  return is_outcome(after.state) && note_end(i, after);
}

bool Preparing::note_end(std::size_t i, const PreparationStatus& status) {
  states_[i] = status.state;
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
  const auto is_active = [](const Making* making) { return making->is_active(); };
  for (int looks = 0; looks < kLooksAtEnd && std::any_of(here.begin(), here.end(), is_active); ++looks)
    call_.executors.workshop().wait(kLookS);
  call_.progress.print("prepare: what ran here was ended; `hpcbench run` makes it in a new folder");
}

/// How many instances jobs make without this call.
void Preparing::say_detached() const {
  const long long count = std::count_if(needed_.begin(), needed_.end(), [&](const std::size_t i) {
    return !is_outcome(states_[i]) && is_submitted(i) && !makings_[i]->is_here();
  });
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

bool any_failed_preparation(const Study& study, const Plan& plan, const std::string& name) {
  const PreparationView view(study, plan);
  const std::vector<std::size_t> needed = instances_needed(plan);
  return std::any_of(needed.begin(), needed.end(), [&](const std::size_t i) {
    return view.status(i).failed() && (name.empty() || plan.prepared[i].name == name);
  });
}

std::string except_unprepared(const Study& study) {
  return any_failed_preparation(study, study.selected()) ? ", but for those whose preparation failed or was cancelled" : "";
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
  const std::vector<std::size_t> unfinished = unfinished_preparations(study);
  if (unfinished.empty()) return true;
  LogListener log(study.results);
  Events events(study.results, {}, {&log});
  std::size_t ended = 0;
  long long revoked = 0;
  bool all_ended = true;
  for (const bool by_job : {false, true}) {
    std::vector<AttemptState> attempts;
    for (const std::size_t i : unfinished) {
      if (has_own_job(study.experiment, study.selected(), i) != by_job) continue;
      for (const AttemptState& attempt : preparation_attempts(study.results, study.selected().prepared[i])) {
        if (!is_outcome(attempt.state)) attempts.push_back(attempt);
      }
    }
    if (attempts.empty()) continue;
    const std::unique_ptr<Executor> executor =
        by_job ? choose_executor(study, 1, say) : std::make_unique<LocalExecutor>(1, program_folder() + "/hpcbench");
    // It says afterwards that a person ended it: without that the next call would make it again.
    for (const AttemptState& attempt : attempts) request_cancel(study.results + "/" + to_string(attempt.key));
    const CancelCounts counts = cancel_attempts(study.results, attempts, *executor, events);
    const std::size_t left = watch_ends(study, counts.asked, *executor, events);
    ended += counts.asked.size() - left;
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
  const PreparationView view(study, plan);
  const std::string call_folder = std::filesystem::current_path().string();
  std::string lines;
  for (const std::size_t i : needed_by(plan, configurations)) {
    const PreparedInstance& instance = plan.prepared[i];
    const PreparationStatus& status = view.status(i);
    if (status.failed()) {
      lines += fmt::format("prepare {}: failed ({}); `{} --prepare {}` tries it again\n", instance.folder(), status.why,
                           study.command("retry"), instance.name);
    } else if (!status.succeeded()) {
      lines += fmt::format("prepare {}: {}\n", instance.folder(),
                           status.state != State::planned           ? "would be taken up"
                           : has_own_job(study.experiment, plan, i) ? "would be made by a job"
                                                                    : "would be made");
    }
    const std::vector<std::string> changed = view.outdated_inputs(i, call_folder);
    if (!changed.empty()) refuse_outdated(study, instance, changed);
  }
  return lines;
}

}  // namespace hpcbench
