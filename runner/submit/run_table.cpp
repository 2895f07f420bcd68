#include "submit/run_table.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kNoRun = static_cast<std::size_t>(-1);

std::optional<std::size_t> miss_index(State outcome) {
  if (outcome == State::lost) return 0;
  if (outcome == State::node_failure) return 1;
  if (outcome == State::preempted) return 2;
  if (outcome == State::failed) return 3;
  return std::nullopt;
}

}  // namespace

RunTable::RunTable(const Plan& plan, bool with_warmups) : plan_(plan) {
  const auto per_configuration = static_cast<std::size_t>(plan.warmups + plan.repeats);
  index_.assign(plan.configurations.size() * per_configuration, kNoRun);
  open_warmups_.assign(plan.configurations.size(), 0);
  configurations_.reserve(plan.configurations.size());
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) configurations_.emplace(plan.configurations[i].id, i);
  for (const PlannedRun& planned : runs_in_order(plan)) {
    if (planned.name.is_warmup() && !with_warmups) continue;
    index_[slot(planned.configuration, planned.name)] = runs_.size();
    if (planned.name.is_warmup()) ++open_warmups_[planned.configuration];
    runs_.push_back(Run{.planned = planned});
  }
  total_ = static_cast<long long>(runs_.size());
}

std::size_t RunTable::slot(std::size_t configuration, RunName name) const {
  const int place = name.is_warmup() ? name.number - 1 : plan_.warmups + name.number - 1;
  return configuration * static_cast<std::size_t>(plan_.warmups + plan_.repeats) + static_cast<std::size_t>(place);
}

std::optional<std::size_t> RunTable::find(const std::string& config_id, RunName name) const {
  const auto configuration = configurations_.find(config_id);
  if (configuration == configurations_.end() || name.is_imported()) return std::nullopt;
  if (name.number < 1 || name.number > (name.is_warmup() ? plan_.warmups : plan_.repeats)) return std::nullopt;
  const std::size_t run = index_[slot(configuration->second, name)];
  if (run == kNoRun) return std::nullopt;
  return run;
}

AttemptKey RunTable::key(std::size_t index, int attempt) const {
  const PlannedRun& planned = runs_[index].planned;
  return {plan_.configurations[planned.configuration].id, planned.name, attempt};
}

void RunTable::set_state(std::size_t index, State state) {
  Run& run = runs_[index];
  const int ended = static_cast<int>(is_outcome(state)) - static_cast<int>(is_outcome(run.state));
  done_ += ended;
  succeeded_ += static_cast<int>(state == State::succeeded) - static_cast<int>(run.state == State::succeeded);
  if (run.planned.name.is_warmup()) open_warmups_[run.planned.configuration] -= ended;
  run.state = state;
}

void RunTable::note_known(std::size_t index, const AttemptState& known, bool is_miss) {
  Run& run = runs_[index];
  run.history.add(known);
  if (known.standing != Standing::normal) {
    run.misses = {};
  } else if (is_miss) {
    count_miss(index, known.state);
  }
  if (is_outcome(known.state)) note_outcome(index, known.key.attempt, known.state);
  if (known.key.attempt <= run.attempt) return;
  run.attempt = known.key.attempt;
  if (known.is_void) {
    if (!run.history.is_excluded()) set_state(index, State::planned);
  } else if (known.standing == Standing::normal) {
    set_state(index, known.state);
  } else if (run.history.counting() == 0) {
    set_state(index, run.history.is_measured_again() ? State::planned : known.state);
  }
}

void RunTable::note_outcome(std::size_t index, int attempt, State outcome) {
  Run& run = runs_[index];
  if (attempt < run.last_attempt) return;
  run.last_attempt = attempt;
  run.last = outcome;
}

void RunTable::count_miss(std::size_t index, State outcome) {
  if (const auto miss = miss_index(outcome)) ++runs_[index].misses[*miss];
}

bool RunTable::may_retry(std::size_t index, State outcome, const Retries& retries) const {
  const std::array<int, 4> limits = {retries.lost, retries.node_failure, retries.preempted, retries.failed};
  const auto miss = miss_index(outcome);
  if (runs_[index].is_closed()) return false;
  return miss && runs_[index].misses[*miss] <= limits[*miss];
}

void RunTable::skip_idle_warmups() {
  if (plan_.warmups == 0) return;
  std::vector<bool> wanted(plan_.configurations.size(), false);
  for (const Run& run : runs_) {
    if (!run.planned.name.is_warmup() && run.state == State::planned) wanted[run.planned.configuration] = true;
  }
  for (Run& run : runs_) {
    if (!run.planned.name.is_warmup() || run.state != State::planned || wanted[run.planned.configuration] || run.skipped)
      continue;
    run.skipped = true;
    --total_;
    --open_warmups_[run.planned.configuration];
  }
}

bool RunTable::may_begin(std::size_t index) const {
  const PlannedRun& planned = runs_[index].planned;
  return planned.name.is_warmup() || open_warmups_[planned.configuration] == 0;
}

}  // namespace hpcbench
