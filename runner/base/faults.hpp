#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// A signal to one rank and to all that it started.
struct KillRank {
  std::optional<int> rank;        // absent: the last one
  std::optional<double> at_s;     // since the ranks have started; or
  std::optional<long long> step;  // once events report it
  std::string signal = "KILL";
  /// How many ranks the program's own launcher starts, one of which it is; 0: hpcbench starts them.
  int launched = 0;
};

/// All processes of one node run for 1/by of the time and are stopped for the rest.
struct SlowNode {
  std::optional<int> node;  // absent: the last one
  double by = 1;            // 1: not at all
  double from_s = 0;        // since the ranks have started
  std::optional<double> for_s;
};

/// What `inject` does to a run while it goes on.
struct Faults {
  std::optional<KillRank> kill_rank;
  std::optional<SlowNode> slow_node;

  bool any() const { return kill_rank || slow_node; }
};

/// Sets what a key of `inject` (`kill_rank.at`) says; `none` in place of a time or a step leaves that out. What the value must
/// be where it is not; empty if it was set.
std::string set_fault(Faults& faults, std::string_view key, const std::string& value);
/// Without a fault that has neither time nor step, and one that slows by 1.
Faults without_idle(Faults faults);

/// For people: `rank 3 gets SIGKILL after 30 s; node 1 is slower by 2`.
std::string describe_faults(const Faults& faults);
/// As identities and run.json have it, sorted: `{"kill_rank":{"at_s":30,"rank":3}}`.
std::string faults_json(const Faults& faults);
/// Total: what is missing or of a wrong type is not there.
Faults parse_faults(std::string_view object);

/// The signals that `kill_rank` may name: KILL ...
std::vector<std::string> signal_names();
/// The number of a signal that `kill_rank` may name; absent: none of these.
std::optional<int> signal_number(std::string_view name);

}  // namespace hpcbench
