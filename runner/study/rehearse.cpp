#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/terminal.hpp"
#include "base/text.hpp"
#include "study/index.hpp"
#include "study/preflight.hpp"
#include "study/preparing.hpp"
#include "study/run_study.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kShownStarts = 40;

/// Where each run stands, by `CONFIG_ID/r01`.
std::unordered_map<std::string, State> states_by_run(const std::vector<AttemptState>& states) {
  std::unordered_map<std::string, State> by_run;
  for (const AttemptState& run : counting_states(states)) by_run[run.key.config_id + "/" + to_string(run.key.run)] = run.state;
  return by_run;
}

}  // namespace

int rehearse(const Study& study, const RunOptions& options) {
  require_program(study);
  check_study(study);
  const Store store = open_for_reading(study);
  const std::vector<AttemptState> attempts = store.states(study.experiment.name);
  const std::unordered_map<std::string, State> states = states_by_run(attempts);
  const Plan& plan = study.selected();
  std::vector<std::size_t> open;
  long long to_start = 0;
  long long going_on = 0;
  std::string lines;
  for (const PlannedRun& run : runs_in_order(plan)) {
    if (!run.name.is_repeat()) continue;
    const Configuration& configuration = plan.configurations[run.configuration];
    const std::string name = configuration.id + "/" + to_string(run.name);
    const auto known = states.find(name);
    if (known != states.end() && is_outcome(known->second)) continue;
    const bool goes_on = known != states.end() && known->second != State::intended;
    ++(goes_on ? going_on : to_start);
    open.push_back(run.configuration);
    if (!goes_on && to_start <= static_cast<long long>(kShownStarts)) {
      lines += fmt::format("{}  {}\n", name, printable(describe(plan.bindings(configuration))));
    }
  }
  if (to_start > static_cast<long long>(kShownStarts)) lines += fmt::format("... {} more\n", to_start - kShownStarts);
  std::sort(open.begin(), open.end());
  open.erase(std::unique(open.begin(), open.end()), open.end());
  print_data(list_preparations(study, open) + lines);
  const long long asked = static_cast<long long>(plan.configurations.size()) * plan.repeats;
  say(fmt::format("{}: {} would be started by the executor {}{}; {} of {} have an outcome. Nothing was started.",
                  study.experiment.name, counted(to_start, "run", "runs"), study.experiment.executor,
                  going_on > 0 ? fmt::format(", {} taken up", counted(going_on, "that goes on is", "that go on are")) : "",
                  asked - to_start - going_on, asked));
  require_ready(study, compare_with_index(study, attempts), {}, options);
  return 0;
}

}  // namespace hpcbench
