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
#include "kernels/bert_normal.inc"
}  // namespace
void fill_normal(const NormalFill& args, std::int64_t begin, std::int64_t end) { fill_normal_body(args, begin, end); }
}  // namespace avx512
HPCBENCH_END_ISA

HPCBENCH_BEGIN_AVX2
namespace avx2 {
namespace {
#include "kernels/bert_normal.inc"
}  // namespace
void fill_normal(const NormalFill& args, std::int64_t begin, std::int64_t end) { fill_normal_body(args, begin, end); }
}  // namespace avx2
HPCBENCH_END_ISA

namespace generic {
namespace {
#include "kernels/bert_normal.inc"
}  // namespace
void fill_normal(const NormalFill& args, std::int64_t begin, std::int64_t end) { fill_normal_body(args, begin, end); }
}  // namespace generic

void fill_normal(const NormalFill& args, std::int64_t begin, std::int64_t end) {
  const Isa isa = best_isa();
  if (isa == Isa::avx512) return avx512::fill_normal(args, begin, end);
  if (isa == Isa::avx2) return avx2::fill_normal(args, begin, end);
  generic::fill_normal(args, begin, end);
}

}  // namespace hpcbench::train::kernels
