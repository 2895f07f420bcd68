#include "tasks/bert_squad/bert_products.hpp"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

// No installed header declares it, so another LibTorch may lack it: a weak symbol is then null.
namespace at::native {
__attribute__((weak)) void mkldnn_matmul(const Tensor& a, const Tensor& b, const Tensor& out, float beta, float alpha);
}

namespace hpcbench::train {

namespace {

/// mkldnn_matmul throws on processors without AVX-512, also for fp32, and if ONEDNN_MAX_CPU_ISA allows less: one small product
/// tests it. If ATEN_CPU_CAPABILITY allows less, it is not called either, so that the other path can be tested on any
/// processor.
bool onednn_takes_fp32() {
  if (at::native::mkldnn_matmul == nullptr || at::get_cpu_capability() != "AVX512") return false;
  const at::Tensor one = at::ones({1, 1}, at::kFloat);
  try {
    at::native::mkldnn_matmul(one, one, at::empty({1, 1}, at::kFloat), 0.0F, 1.0F);
    return true;
  } catch (const c10::Error&) {
    return false;
  }
}

}  // namespace

void bert_product(const at::Tensor& out, const at::Tensor& a, const at::Tensor& b) {
  static const bool kHasOnednn = onednn_takes_fp32();
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
