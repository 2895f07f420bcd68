#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

// Runs that go on side by side in one block say what they are bound to in one file of it, a line when a rank begins and one
// when it has ended: what was shared is known, and not only asked for. All of them are on one node.

/// In the block's folder.
inline constexpr const char* kBindingsFile = "bindings.jsonl";
/// The environment variable with its path, for `hpcbench rank`.
inline constexpr const char* kBindingsVariable = "HPCBENCH_BINDINGS";

/// What one rank may use, as lists `0-3,8`; empty: nothing, or not known.
struct RankBinding {
  std::string run;  // CONFIG_ID/r01/a1
  int rank = 0;
  int pid = 0;        // of `hpcbench rank`, on its node
  std::string cpus;   // that the kernel lets it run on
  std::string cores;  // the first CPU of each core that these are of
  std::string numa;   // NUMA nodes of these
  std::string gpus;   // as Slurm counts them on the node, else as the program sees them
  double from_s = 0;  // of the node's monotonic clock
  std::optional<double> to_s = {};
};

/// How the file calls a run: the last three names of its attempt's folder.
std::string attempt_path(const std::string& attempt_folder);

void note_binding(const std::string& path, const RankBinding& binding);
void note_binding_end(const std::string& path, const std::string& run, int rank, double to_s);
/// Total: lines that are none are left out.
std::vector<RankBinding> read_bindings(const std::string& path);

/// `0-3,8` as numbers, ascending, and back. Total: what is no such list ends it.
std::vector<int> parse_number_list(std::string_view list);
std::string number_list(const std::vector<int>& numbers);

enum class Shared { cores, gpus, numa };
/// What a run has shared with one that went on at the same time.
struct Sharing {
  Shared kind = Shared::cores;
  std::string what;  // `cores 0-1`, `GPU 0`, `NUMA node 0`
  std::string with;  // the other run
};

/// The worst that ranks of `run` have shared with another run. Ranks went on at the same time where that is certain: one whose
/// end nobody noted, as where it was killed, lasts while `is_alive` says so, else it is known for its beginning alone.
std::optional<Sharing> find_sharing(const std::vector<RankBinding>& bindings, const std::string& run, bool may_share_numa,
                                    const std::function<bool(int pid)>& is_alive);

/// `cores 0-1 of NUMA node 0, GPU 0`: what the ranks of a run may use together; empty where nobody noted it.
std::string describe_binding(const std::vector<RankBinding>& bindings, const std::string& run);

/// Why nothing more of these blocks is begun, and what to do.
std::string refusal_of(const Sharing& sharing, const std::string& run, const std::string& node);

}  // namespace hpcbench
