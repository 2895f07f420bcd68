#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/bert_hash.hpp"
#include "kernels/bert_isa.hpp"
#include "kernels/bert_kernels.hpp"

namespace hpcbench::train::kernels {

HPCBENCH_BEGIN_AVX512
namespace avx512 {
namespace {
constexpr Isa kIsa = Isa::avx512;
#include "kernels/bert_attention.inc"
}  // namespace
HPCBENCH_ISA_KERNEL(attention_forward, Attention)
HPCBENCH_ISA_KERNEL(attention_backward, Attention)
}  // namespace avx512
HPCBENCH_END_ISA

HPCBENCH_BEGIN_AVX2
namespace avx2 {
namespace {
constexpr Isa kIsa = Isa::avx2;
#include "kernels/bert_attention.inc"
}  // namespace
HPCBENCH_ISA_KERNEL(attention_forward, Attention)
HPCBENCH_ISA_KERNEL(attention_backward, Attention)
}  // namespace avx2
HPCBENCH_END_ISA

namespace generic {
namespace {
constexpr Isa kIsa = Isa::generic;
#include "kernels/bert_attention.inc"
}  // namespace
HPCBENCH_ISA_KERNEL(attention_forward, Attention)
HPCBENCH_ISA_KERNEL(attention_backward, Attention)
}  // namespace generic

std::int64_t attention_workspace(std::int64_t longest, std::int64_t head_width) {
  const std::int64_t columns = generic::padded(longest);
  return 9 * columns * generic::padded(head_width) + (2 * generic::kQueriesOfTile + 1) * columns;
}

HPCBENCH_KERNEL(attention_forward, Attention)
HPCBENCH_KERNEL(attention_backward, Attention)

}  // namespace hpcbench::train::kernels
