#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "optim/touched_rows.hpp"

namespace hpcbench::train {

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
  int unit = 0;                                    // of a parameter: its part of the model, see Model
  std::shared_ptr<TouchedRows> touched = nullptr;  // of a table of embeddings whose model maintains the marks
};

/// A strategy's view of a model. Parameters are contiguous leaves that require gradients; buffers are state without gradients
/// that training changes (running statistics). Strategies may replace the data of a tensor, never the tensor.
///
/// A model is a chain of units (BERT: embeddings, layers, head), numbered from 0 in the order of the forward pass; each has one
/// result, the input of the next. Around a unit's forward pass, in training and in evaluation, the model calls the two
/// functions unless they are null: before the first use of the unit's parameters, and with the unit's result. Between
/// after_unit() and the unit's backward pass the parameters may be freed: a unit must save the parameter for backward, not a
/// copy.
struct Model {
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor> buffers;
  std::function<void(int unit)> before_unit;
  std::function<void(int unit, const at::Tensor& result)> after_unit;
};

/// Moved memories, each as one row of elements.
using MovedMemories = std::map<const c10::StorageImpl*, at::Tensor>;

/// Returns a tensor on another device; tensors that share one memory share one there, too.
inline at::Tensor moved_to(at::Device place, const at::Tensor& tensor, MovedMemories& moved) {
  at::Tensor& all = moved[tensor.storage().unsafeGetStorageImpl()];
  if (!all.defined()) {
    const auto count = static_cast<std::int64_t>(tensor.storage().nbytes() / tensor.element_size());
    all = tensor.as_strided({count}, {1}, 0).to(place);
  }
  return all.as_strided(tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

/// Moves parameters and buffers to a device; the tensors stay the same objects, so that every holder of one sees it there.
inline void move_model(Model& model, at::Device place) {
  MovedMemories moved;
  for (std::vector<NamedTensor>* tensors : {&model.parameters, &model.buffers}) {
    for (NamedTensor& each : *tensors) {
      if (each.tensor.device() != place) each.tensor.set_data(moved_to(place, each.tensor.detach(), moved));
    }
  }
}

/// Computes one unit's forward pass, with the model's calls around it.
template <class Forward>
at::Tensor in_unit(const Model& model, int unit, const Forward& forward) {
  if (model.before_unit) model.before_unit(unit);
  at::Tensor result = forward();
  if (model.after_unit) model.after_unit(unit, result);
  return result;
}

}  // namespace hpcbench::train
