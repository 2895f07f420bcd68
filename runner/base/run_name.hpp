#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace hpcbench {

/// The plan contains the repeats and `run` executes them. Warm-ups precede them and never enter a statistic. Imported runs were
/// not started by hpcbench: they enter every statistic, but are no repeats. A preparation builds what other runs use; no table
/// counts it.
enum class RunKind { imported, repeat, warmup, preparation };

/// Names a run of a configuration: repeats `r01`, `r02` ..., imported runs `i01` ..., warm-ups `w01` ..., preparations `p01`.
struct RunName {
  RunKind kind = RunKind::repeat;
  int number = 1;  // from 1

  bool is_repeat() const { return kind == RunKind::repeat; }
  bool is_warmup() const { return kind == RunKind::warmup; }
  bool is_imported() const { return kind == RunKind::imported; }

  friend auto operator<=>(const RunName&, const RunName&) = default;
};

/// Returns the first letter of the names of a kind: `r`, `i`, `w` or `p`.
char run_letter(RunKind kind);
std::optional<RunKind> parse_run_letter(char letter);

/// Returns the name as text: `r01`, `w02`, `r100`.
std::string to_string(RunName name);
std::optional<RunName> parse_run_name(std::string_view text);

/// One attempt of one run, and its folder below results/EXPERIMENT: `CONFIG_ID/r01/a1`; for a preparation `prepare/NAME-ID/a1`,
/// where NAME-ID takes the place of the id.
struct AttemptKey {
  std::string config_id;
  RunName run;
  int attempt = 1;  // from 1

  friend auto operator<=>(const AttemptKey&, const AttemptKey&) = default;
};

/// Returns the attempt's folder relative to the experiment's results.
std::string to_string(const AttemptKey& key);
std::optional<AttemptKey> parse_attempt_key(std::string_view text);

}  // namespace hpcbench
