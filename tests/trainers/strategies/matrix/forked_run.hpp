#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace hpcbench::train {

/// The results of a training.
struct Outcome {
  std::map<std::string, std::vector<double>> gradients;  // averaged, before clipping, of the first step
  std::map<std::string, std::vector<double>> state;      // parameters at the end
  double norm = 0;                                       // of the first step's gradient if it is clipped, from its event
  int units = 0;                                         // buckets or units, by rank 0's run_end
  int overlapped_steps = 0;                              // in which sums began before backward had ended
  std::vector<std::uint64_t> hashes;                     // of every rank: its gradients and state, bit for bit
  std::string error;                                     // empty: all ranks ended well
};

/// Trains like `hpcbench-train OPTIONS...`, in `ranks` processes over Gloo, which are forked from this one (so that LibTorch is
/// loaded only once; this process must never have begun to compute with it). Their files are written below `folder`.
Outcome run_forked(const std::filesystem::path& folder, int ranks, const std::vector<std::string>& options);

}  // namespace hpcbench::train
