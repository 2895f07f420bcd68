#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/settings.hpp"
#include "optim/gpu_adamw.hpp"
#include "optim/lazy_adamw.hpp"
#include "optim/model.hpp"
#include "optim/reading.hpp"
#include "optim/torch_update.hpp"
#include "optim/update_part.hpp"

namespace hpcbench::train {

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adadelta;
  double momentum = 0;
  double weight_decay = 0;
  bool decay_bias = true;      // weight decay also on parameters of less than two dimensions (biases, normalisations)
  double clip = 0;             // greatest global norm of the gradient; 0: none
  bool torch_kernels = false;  // LibTorch's operators; what is not on a CPU has them anyhow
  // But for AdamW of fp32 on a GPU, where it is given (compile_adamw_kernels()).
  std::shared_ptr<const GpuProgram> gpu_program = nullptr;
};

/// Name, sizes and type of the state that an optimiser of these parameters has, without values (Optimizer::state()).
std::vector<NamedTensor> optimizer_state_layout(OptimizerKind kind, const std::vector<NamedTensor>& parameters);

/// SGD, Adadelta or AdamW, as torch.optim defines them, with its rho, betas and eps (kernels.hpp): one parallel pass over all
/// parameters, whose state lies side by side in flat memory. Results do not depend on the number of threads. Of a table whose
/// rows' marks are trusted (TouchedRows), what is known to be 0 is not read, and AdamW leaves rows behind that nobody reads
/// (LazyAdamW); the results are the same, bit for bit.
class Optimizer {
 public:
  Optimizer(const OptimizerOptions& options, const std::vector<NamedTensor>& parameters);
  /// Updates every parameter from its gradient; a parameter without one stays. With `clip` the gradient is first scaled by
  /// min(1, clip / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_ does, and the norm before that is returned. `norm` is
  /// given where these parameters are a part of what is clipped together. On a GPU the host does not wait.
  std::optional<Reading> step(double lr, std::optional<Reading> norm = {});
  /// The norm of all gradients together.
  Reading gradient_norm() const;
  /// To be called with each loss of a step. On a GPU AdamW makes no step any more once one was not finite: there the host reads
  /// losses later. (What the others make of such a step is read by nobody: the loop reads the losses before.)
  Reading heed(const at::Tensor& loss);
  /// Brings rows up to date that were left behind: before anybody but the model reads the parameters.
  void catch_up() const;
  /// Drops the gradients, so that the next backward pass hands over its own instead of adding to these.
  void clear_gradients();

  /// The state (of late rows a copy), by the names of the parameters: `first/NAME` (velocity, mean square gradient, mean
  /// gradient) and, but for SGD, `second/NAME` (mean square update, mean square gradient).
  std::vector<NamedTensor> state() const;
  std::int64_t steps() const { return steps_; }
  /// Takes over a state of the same names and sizes, and how many steps it has made.
  void load_state(const std::vector<NamedTensor>& state, std::int64_t steps);

 private:
  struct Part {
    std::string name;
    at::Tensor parameter;
    at::Tensor first;
    at::Tensor second;
    double weight_decay = 0;
    std::shared_ptr<const TouchedRows> touched = nullptr;  // of a table whose marks are trusted
    std::int64_t passes_before = 0;                        // that had begun when the gradients were dropped
    std::shared_ptr<LazyAdamW> late = nullptr;             // of such a table, with AdamW
  };
  /// A range of one part: what one thread takes at a time.
  struct Block {
    std::size_t part = 0;
    std::int64_t begin = 0;
    std::int64_t count = 0;
  };
  bool by_torch() const;
  bool has_second() const { return options_.kind != OptimizerKind::sgd; }
  std::optional<Reading> step_on_device(double lr, std::optional<Reading> norm);
  template <class T>
  void update(const Block& block, double lr, double scale);
  kernels::AdamWFactors adamw_factors(const Part& part, double lr, double scale) const;
  double squares_of(const Block& block) const;

  OptimizerOptions options_;
  std::vector<Part> parts_;
  std::vector<UpdatePart> update_parts_;  // the same, for LibTorch's operators and the GPU's kernels
  std::vector<Block> blocks_;
  std::int64_t steps_ = 0;
  SpoiltMark spoilt_;  // of losses on a GPU
  std::optional<GpuAdamW> gpu_adamw_;
};

}  // namespace hpcbench::train
