#include "submit/run_table.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kNoRun = static_cast<std::size_t>(-1);

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
  counts_.asked = static_cast<long long>(runs_.size());
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

template <typename Change>
void RunTable::change(std::size_t index, Change change) {
  Run& run = runs_[index];
  const State before = run.state();
  change(run.history);
  const State after = run.state();
  counts_.note(before, -1);
  counts_.note(after);
  const int ended = static_cast<int>(is_outcome(after)) - static_cast<int>(is_outcome(before));
  if (run.planned.name.is_warmup()) open_warmups_[run.planned.configuration] -= ended;
}

void RunTable::add(std::size_t index, const AttemptState& attempt, bool is_miss) {
  change(index, [&](RunHistory& history) { history.add(attempt, is_miss); });
}

void RunTable::add_intended(std::size_t index, int attempt) {
  change(index, [&](RunHistory& history) { history.add_intended(attempt); });
}

void RunTable::set_state(std::size_t index, State state) {
  change(index, [&](RunHistory& history) { history.set_state(state); });
}

void RunTable::note_end(std::size_t index, int attempt, State outcome, bool is_miss) {
  change(index, [&](RunHistory& history) { history.note_end(attempt, outcome, is_miss); });
}

void RunTable::take_back_highest(std::size_t index) {
  change(index, [](RunHistory& history) { history.take_back_highest(); });
}

void RunTable::skip_idle_warmups() {
  if (plan_.warmups == 0) return;
  std::vector<bool> wanted(plan_.configurations.size(), false);
  for (const Run& run : runs_) {
    if (!run.planned.name.is_warmup() && run.state() == State::planned) wanted[run.planned.configuration] = true;
  }
  for (Run& run : runs_) {
    if (!run.planned.name.is_warmup() || run.state() != State::planned || wanted[run.planned.configuration] || run.skipped)
      continue;
    run.skipped = true;
    --counts_.asked;
    --open_warmups_[run.planned.configuration];
  }
}

bool RunTable::may_begin(std::size_t index) const {
  const PlannedRun& planned = runs_[index].planned;
  return planned.name.is_warmup() || open_warmups_[planned.configuration] == 0;
}

}  // namespace hpcbench
