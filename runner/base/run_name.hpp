#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace hpcbench {

/// Which repeat of a configuration: `r01`, `r02` ... count; warm-ups `w01` ... never enter a statistic.
struct RunName {
  bool warmup = false;
  int number = 1;  // from 1

  friend auto operator<=>(const RunName&, const RunName&) = default;
};

/// `r01`, `w02`, `r100`.
std::string to_string(RunName name);
std::optional<RunName> parse_run_name(std::string_view text);

/// One attempt of one run, and its folder below results/EXPERIMENT: `CONFIG_ID/r01/a1`.
struct AttemptKey {
  std::string config_id;
  RunName run;
  int attempt = 1;  // from 1

  friend auto operator<=>(const AttemptKey&, const AttemptKey&) = default;
};

/// `CONFIG_ID/r01/a1`, also its folder relative to the experiment's results.
std::string to_string(const AttemptKey& key);
std::optional<AttemptKey> parse_attempt_key(std::string_view text);

}  // namespace hpcbench
