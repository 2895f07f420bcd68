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
  bool decay_bias = true;      // weight decay also on parameters with fewer than two dimensions (biases, normalisations)
  double clip = 0;             // maximum global norm of the gradient; 0: unlimited
  bool torch_kernels = false;  // LibTorch's operators; other devices than the CPU always use them
  // Except for AdamW of fp32 on a GPU, if this is given (compile_adamw_kernels()).
  std::shared_ptr<const GpuProgram> gpu_program = nullptr;
};

/// Returns name, sizes and type of the state that an optimiser of these parameters has, without values (Optimizer::state()).
std::vector<NamedTensor> optimizer_state_layout(OptimizerKind kind, const std::vector<NamedTensor>& parameters);

/// SGD, Adadelta or AdamW, as torch.optim defines them, with its rho, betas and eps (kernels.hpp): one parallel pass over all
/// parameters, whose state lies side by side in flat memory. Results do not depend on the number of threads. In a table whose
/// row marks are trusted (TouchedRows), gradients known to be 0 are not read, and AdamW postpones rows that the model does not
/// read (LazyAdamW); the results are the same, bit for bit.
class Optimizer {
 public:
  Optimizer(const OptimizerOptions& options, const std::vector<NamedTensor>& parameters);
  /// Updates every parameter from its gradient; a parameter without one is unchanged. With `clip` the gradient is first scaled
  /// by min(1, clip / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_ does, and the norm before scaling is returned. `norm`
  /// is given if these parameters are only a part of the tensors that are clipped together. On a GPU the host does not wait.
  std::optional<Reading> step(double lr, std::optional<Reading> norm = {});
  /// Returns the norm of all gradients together.
  Reading gradient_norm() const;
  /// Call this with each loss of a step. On a GPU AdamW makes no further step after a loss that is not finite, because the host
  /// reads losses later there. (Other optimisers' results after such a step are never used: the loop reads the losses before.)
  Reading note_loss(const at::Tensor& loss);
  /// Brings postponed rows up to date: call it before any code but the model reads the parameters.
  void catch_up() const;
  /// Drops the gradients, so that the next backward pass assigns its own instead of adding to these.
  void clear_gradients();

  /// Returns the state (copies for tables with postponed rows), by the names of the parameters: `first/NAME` (velocity, mean
  /// square gradient, mean gradient) and, except for SGD, `second/NAME` (mean square update, mean square gradient).
  std::vector<NamedTensor> state() const;
  std::int64_t steps() const { return steps_; }
  /// Replaces the state by one with the same names and sizes, and sets the number of steps that it has made.
  void load_state(const std::vector<NamedTensor>& state, std::int64_t steps);

 private:
  struct Part {
    std::string name;
    at::Tensor parameter;
    at::Tensor first;
    at::Tensor second;
    double weight_decay = 0;
    std::shared_ptr<const TouchedRows> touched = nullptr;  // of a table whose marks are trusted
    std::int64_t passes_before = 0;                        // passes that had begun when the gradients were dropped
    std::shared_ptr<LazyAdamW> late = nullptr;             // of such a table, with AdamW
  };
  /// A range of one part: the work of one thread at a time.
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
