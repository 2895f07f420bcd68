#pragma once

#include <string>
#include <vector>

#include "base/value.hpp"
#include "spec/experiment.hpp"

namespace hpcbench {

// config_id = first 16 hex digits of SHA-256 over one line of canonical JSON: keys sorted by bytes, no blanks, values as
// Value::canonical() has them, absent, empty and false entries left out:
//
//   {"axes":{...},"command":[...],"constraint":S,"container":S|{...},"cpus_per_task":N,"derived":{...},"environment":{...},
//    "exclusive":true,"files":[...],"gres":S,"launch":S,"modules":[...],"parameters":{...},"partition":S,"setup":[...],"shell":true,"srun":[...],"task":S}
//
// (modules, partition and resources with their placeholders filled in, all else as it is written; `derived`, after
// cpus_per_task, holds those derived values that the run is given: by placeholders, or as settings.) `axes` always holds nodes
// and gpus_per_node; `gres` is without its count. What is not here (time, mem, names, repeats ...) may change without making
// other configurations of what has been measured.

/// All of that line but its axes and derived values: the same for all points of equal work.
struct IdentityTail {
  std::string before_derived, after_derived;
};
IdentityTail identity_tail(const Work& work);

/// Computes ids of points; looks up the order of the axes once.
class PointIdentity {
 public:
  explicit PointIdentity(const std::vector<std::string>& axes);
  /// `derived`: those that the run is given.
  std::string config_id(const std::vector<Value>& point, const IdentityTail& tail, const Bindings& derived = {}) const;

 private:
  struct Key {
    std::size_t axis = 0;
    std::string json;  // `"nodes":`
  };
  std::vector<Key> keys_;  // sorted by name
};

/// `gpu:a100:4` -> `gpu:a100`; `gpu:4` -> `gpu`.
std::string gres_without_count(const std::string& gres);

}  // namespace hpcbench
