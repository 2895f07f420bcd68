#include "cli/run_reference.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/index.hpp"
#include "cli/last_run.hpp"
#include "plan/plan.hpp"

namespace hpcbench {

namespace {

struct Reference {
  std::string experiment;
  std::string configuration;  // id prefix or axis=value,...; empty: any
  std::optional<RunName> run;
  std::optional<int> attempt;
};

[[noreturn]] void reject_reference(const std::string& reference) {
  throw InputError(
      fmt::format("error: `{}` is no run; write [EXPERIMENT/](CONFIG_ID prefix or axis=value,...)[/rNN[/aN]]", reference));
}

std::string last_experiment(const std::string& results_root) {
  const std::optional<LastRun> last = read_last_run(results_root);
  const std::vector<std::string> there = experiments_on_disk(results_root);
  if (last) return last->experiment;
  if (there.size() == 1) return there.front();
  throw InputError(fmt::format("error: name the experiment: EXPERIMENT/CONFIG_ID/rNN; in {} there are: {}", results_root,
                               there.empty() ? "none" : join(there, ", ")));
}

Reference parse_reference(const std::string& results_root, const std::string& text) {
  Reference reference;
  std::vector<std::string> parts = split(text, '/');
  const std::vector<std::string> experiments = experiments_on_disk(results_root);
  if (parts.size() > 1 && std::find(experiments.begin(), experiments.end(), parts.front()) != experiments.end()) {
    reference.experiment = parts.front();
    parts.erase(parts.begin());
  } else {
    reference.experiment = last_experiment(results_root);
  }
  // From the end: values may hold `/`, as in `model=org/name/r01`.
  if (parts.size() > 2 && parse_run_name(parts[parts.size() - 2])) {
    if (const std::optional<AttemptKey> key = parse_attempt_key("x/r01/" + parts.back())) {
      reference.attempt = key->attempt;
      parts.pop_back();
    }
  }
  if (parts.size() > 1) {
    reference.run = parse_run_name(parts.back());
    if (reference.run) parts.pop_back();
  }
  reference.configuration = join(parts, "/");
  const bool is_id = reference.configuration.find('=') == std::string::npos;
  if (reference.configuration.empty() || (is_id && parts.size() > 1)) reject_reference(text);
  return reference;
}

bool refers_to(const Reference& reference, const std::optional<Condition>& condition, const AttemptRecord& record) {
  if (reference.run && record.key.run != *reference.run) return false;
  if (reference.attempt && record.key.attempt != *reference.attempt) return false;
  return condition ? matches(*condition, record.axes) : record.key.config_id.starts_with(reference.configuration);
}

}  // namespace

FoundRun find_run(const std::string& results_root, const std::string& text) {
  const Reference reference = parse_reference(results_root, text);
  std::optional<Condition> condition;
  if (reference.configuration.find('=') != std::string::npos) condition = parse_only(reference.configuration);
  const Store store = open_for_reading(results_root, reference.experiment);
  std::vector<AttemptRecord> found;
  const bool all = reference.attempt || (reference.run && reference.run->is_warmup());
  for (AttemptRecord& record :
       all ? store.attempts(reference.experiment) : store.counting_attempts(reference.experiment, true)) {
    if (refers_to(reference, condition, record)) found.push_back(std::move(record));
  }
  if (found.empty())
    throw InputError(fmt::format("error: no run of {} matches `{}`; `hpcbench status` lists them", reference.experiment, text));
  // A warm-up that is not named by its attempt: the last one counts.
  if (found.size() > 1 && reference.run && found.front().key.config_id == found.back().key.config_id)
    return {reference.experiment, found.back()};
  if (found.size() > 1) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), 10); ++i) {
      names += fmt::format("\n  {}/{} ({})", found[i].key.config_id, to_string(found[i].key.run), describe(found[i].axes));
    }
    throw InputError(
        fmt::format("error: `{}` is {} runs; name one:{}{}", text, found.size(), names, found.size() > 10 ? "\n  ..." : ""));
  }
  return {reference.experiment, found.front()};
}

}  // namespace hpcbench
