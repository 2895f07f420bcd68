#include <cmath>
#include <cstdint>
#include <cstring>

#include "kernels/bert_hash.hpp"
#include "kernels/bert_isa.hpp"
#include "kernels/bert_kernels.hpp"

/// The kernels of this file with their arguments.
#define HPCBENCH_ROW_KERNELS(KERNEL)  \
  KERNEL(norm_forward, NormForward)   \
  KERNEL(norm_backward, NormBackward) \
  KERNEL(gelu_forward, Gelu)          \
  KERNEL(gelu_backward, Gelu)         \
  KERNEL(sum_blocks, SumBlocks)       \
  KERNEL(add_matrix, AddMatrix)       \
  KERNEL(to_matrix, Convert)          \
  KERNEL(from_matrix, Convert)        \
  KERNEL(scatter_rows, ScatterRows)

namespace hpcbench::train::kernels {

HPCBENCH_BEGIN_AVX512
namespace avx512 {
namespace {
constexpr Isa kIsa = Isa::avx512;
#include "kernels/bert_rows.inc"
}  // namespace
HPCBENCH_ROW_KERNELS(HPCBENCH_ISA_KERNEL)
}  // namespace avx512
HPCBENCH_END_ISA

HPCBENCH_BEGIN_AVX2
namespace avx2 {
namespace {
constexpr Isa kIsa = Isa::avx2;
#include "kernels/bert_rows.inc"
}  // namespace
HPCBENCH_ROW_KERNELS(HPCBENCH_ISA_KERNEL)
}  // namespace avx2
HPCBENCH_END_ISA

namespace generic {
namespace {
constexpr Isa kIsa = Isa::generic;
#include "kernels/bert_rows.inc"
}  // namespace
HPCBENCH_ROW_KERNELS(HPCBENCH_ISA_KERNEL)
}  // namespace generic

HPCBENCH_ROW_KERNELS(HPCBENCH_KERNEL)

}  // namespace hpcbench::train::kernels
