#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>
#include <vector>

namespace hpcbench::train {

/// The output of trainer_parity_worker.
struct Dump {
  std::map<std::string, at::Tensor> tensors;  // rank 0's
  std::vector<std::string> bytes;             // of every rank
};

/// Reads PREFIX.0, PREFIX.1 ...
Dump read_dumps(const std::string& prefix, int ranks);

}  // namespace hpcbench::train
