#pragma once

#include <optional>
#include <string>

namespace hpcbench {

/// Returns the failing rank's own last words if `output` ends with the failure of torchrun or accelerate: they end with the
/// rank's exception, `ValueError: no data`. Their source is torchrun's summary (the rank's error file), the rank's lines in
/// `output`, or the rank's log in the attempt's folder (`--log-dir`). Without any of these, one line states which rank failed.
/// nullopt if `output` ends otherwise.
std::optional<std::string> failure_below_launcher(const std::string& output, const std::string& attempt_folder);

/// Output of a rank that ended badly below mpirun, mpiexec, prterun or srun.
struct MpiFailure {
  std::string own;         // the lines of the ranks; empty if there are none
  std::string launcher;    // how the launcher describes the end, in one line
  bool by_signal = false;  // the launcher names a signal that leaves a rank no words (not SIGABRT)
};

/// Separates the ranks' lines from those of Open MPI, PRRTE, MPICH's Hydra or srun. nullopt if `output` does not end with such
/// a launcher's lines.
std::optional<MpiFailure> failure_below_mpi(const std::string& output);

}  // namespace hpcbench
