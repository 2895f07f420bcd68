#include "tasks/bert_squad/bert_products.hpp"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <ATen/ops/mm.h>

// Not in an installed header, so it may be absent from another LibTorch: a weak symbol is then null.
namespace at::native {
__attribute__((weak)) void mkldnn_matmul(const Tensor& a, const Tensor& b, const Tensor& out, float beta, float alpha);
}

namespace hpcbench::train {

namespace {

/// mkldnn_matmul refuses processors without AVX-512, for fp32 as well (mkldnn_bf16_device_check in LibTorch's
/// ATen/native/mkldnn/Matmul.cpp). Where ATEN_CPU_CAPABILITY asks for less than the processor has, it is not called either, so
/// that the other way can be tested on any.
bool processor_is_taken() { return at::get_cpu_capability() == "AVX512"; }

}  // namespace

void bert_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  static const bool kHasOnednn = at::native::mkldnn_matmul != nullptr && processor_is_taken();
  if (out.scalar_type() == at::kFloat && kHasOnednn && at::globalContext().userEnabledMkldnn()) {
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
