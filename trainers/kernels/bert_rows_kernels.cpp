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
#include "kernels/bert_rows.inc"
}  // namespace
HPCBENCH_ISA_KERNEL(norm_forward, NormForward)
HPCBENCH_ISA_KERNEL(norm_backward, NormBackward)
HPCBENCH_ISA_KERNEL(gelu_forward, Gelu)
HPCBENCH_ISA_KERNEL(gelu_backward, Gelu)
HPCBENCH_ISA_KERNEL(sum_blocks, SumBlocks)
HPCBENCH_ISA_KERNEL(add_matrix, AddMatrix)
HPCBENCH_ISA_KERNEL(to_matrix, Convert)
HPCBENCH_ISA_KERNEL(from_matrix, Convert)
HPCBENCH_ISA_KERNEL(scatter_rows, ScatterRows)
}  // namespace avx512
HPCBENCH_END_ISA

HPCBENCH_BEGIN_AVX2
namespace avx2 {
namespace {
constexpr Isa kIsa = Isa::avx2;
#include "kernels/bert_rows.inc"
}  // namespace
HPCBENCH_ISA_KERNEL(norm_forward, NormForward)
HPCBENCH_ISA_KERNEL(norm_backward, NormBackward)
HPCBENCH_ISA_KERNEL(gelu_forward, Gelu)
HPCBENCH_ISA_KERNEL(gelu_backward, Gelu)
HPCBENCH_ISA_KERNEL(sum_blocks, SumBlocks)
HPCBENCH_ISA_KERNEL(add_matrix, AddMatrix)
HPCBENCH_ISA_KERNEL(to_matrix, Convert)
HPCBENCH_ISA_KERNEL(from_matrix, Convert)
HPCBENCH_ISA_KERNEL(scatter_rows, ScatterRows)
}  // namespace avx2
HPCBENCH_END_ISA

namespace generic {
namespace {
constexpr Isa kIsa = Isa::generic;
#include "kernels/bert_rows.inc"
}  // namespace
HPCBENCH_ISA_KERNEL(norm_forward, NormForward)
HPCBENCH_ISA_KERNEL(norm_backward, NormBackward)
HPCBENCH_ISA_KERNEL(gelu_forward, Gelu)
HPCBENCH_ISA_KERNEL(gelu_backward, Gelu)
HPCBENCH_ISA_KERNEL(sum_blocks, SumBlocks)
HPCBENCH_ISA_KERNEL(add_matrix, AddMatrix)
HPCBENCH_ISA_KERNEL(to_matrix, Convert)
HPCBENCH_ISA_KERNEL(from_matrix, Convert)
HPCBENCH_ISA_KERNEL(scatter_rows, ScatterRows)
}  // namespace generic

HPCBENCH_KERNEL(norm_forward, NormForward)
HPCBENCH_KERNEL(norm_backward, NormBackward)
HPCBENCH_KERNEL(gelu_forward, Gelu)
HPCBENCH_KERNEL(gelu_backward, Gelu)
HPCBENCH_KERNEL(sum_blocks, SumBlocks)
HPCBENCH_KERNEL(add_matrix, AddMatrix)
HPCBENCH_KERNEL(to_matrix, Convert)
HPCBENCH_KERNEL(from_matrix, Convert)
HPCBENCH_KERNEL(scatter_rows, ScatterRows)

}  // namespace hpcbench::train::kernels
