#include "optim/reading.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/item.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>

#include <cstdint>

namespace hpcbench::train {

Reading::Reading(const at::Tensor& scalar) {
  if (scalar.is_cpu()) {
    value_ = scalar.item<double>();
  } else {
    there_ = scalar.detach();
  }
}

double Reading::read() const { return is_there() ? there_.item<double>() : value_; }

at::Tensor Reading::on(at::Device place) const {
  return is_there() ? there_ : at::scalar_tensor(value_, at::TensorOptions(place).dtype(at::kDouble));
}

std::vector<double> read_all(const std::vector<Reading>& readings) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> there;
  for (const Reading& each : readings) {
    if (each.is_there()) there.push_back(each.there());
  }
  at::Tensor values;
  if (!there.empty()) values = at::stack(there).to(at::kCPU).to(at::kDouble);
  std::vector<double> all;
  std::int64_t next = 0;
  for (const Reading& each : readings) all.push_back(each.is_there() ? values.const_data_ptr<double>()[next++] : each.read());
  return all;
}

}  // namespace hpcbench::train
