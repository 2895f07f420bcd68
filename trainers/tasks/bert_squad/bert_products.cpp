#include "tasks/bert_squad/bert_products.hpp"

#include <ATen/Context.h>
#include <ATen/ops/mm.h>

// Not in an installed header, so it may be absent from another LibTorch: a weak symbol is then null.
namespace at::native {
__attribute__((weak)) void mkldnn_matmul(const Tensor& a, const Tensor& b, const Tensor& out, float beta, float alpha);
}

namespace hpcbench::train {

void bert_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  if (out.scalar_type() == at::kFloat && at::native::mkldnn_matmul != nullptr && at::globalContext().userEnabledMkldnn()) {
    at::native::mkldnn_matmul(a, b, out, 0.0F, 1.0F);
    return;
  }
  at::Tensor result = out;
  at::mm_out(result, a, b);
}

std::int64_t bert_padded_rows(std::int64_t tokens) {
  const std::int64_t multiple = tokens <= 2048 ? 32 : 64;
  return (tokens + multiple - 1) / multiple * multiple;
}

}  // namespace hpcbench::train
