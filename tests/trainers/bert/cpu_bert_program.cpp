#include "cpu_bert_program.hpp"

#include "trainers/cuda_on_cpu/cuda_words.hpp"

namespace hpcbench::train {

namespace {

// The file once for each width and type.
namespace of_72_fp32 {
#define HPCBENCH_WIDTH 72
#include "kernels/gpu/bert_arguments.inc"
#include "kernels/gpu/bert_kernels.inc"
#undef HPCBENCH_WIDTH
}  // namespace of_72_fp32

namespace of_264_fp32 {
#define HPCBENCH_WIDTH 264
#include "kernels/gpu/bert_arguments.inc"
#include "kernels/gpu/bert_kernels.inc"
#undef HPCBENCH_WIDTH
}  // namespace of_264_fp32

#define HPCBENCH_BF16
namespace of_72_bf16 {
#define HPCBENCH_WIDTH 72
#include "kernels/gpu/bert_arguments.inc"
#include "kernels/gpu/bert_kernels.inc"
#undef HPCBENCH_WIDTH
}  // namespace of_72_bf16

namespace of_1024_bf16 {
#define HPCBENCH_WIDTH 1024
#include "kernels/gpu/bert_arguments.inc"
#include "kernels/gpu/bert_kernels.inc"
#undef HPCBENCH_WIDTH
}  // namespace of_1024_bf16

#undef HPCBENCH_BF16

using Kernels = std::map<std::string, CpuGpuProgram::Kernel>;

#define KERNELS_OF(SPACE)                                                                                 \
  {                                                                                                       \
    {"bert_norm", [](void* a) { SPACE::bert_norm(*static_cast<SPACE::BertNormArguments*>(a)); }},         \
        {"bert_norm_backward",                                                                            \
         [](void* a) { SPACE::bert_norm_backward(*static_cast<SPACE::BertNormBackwardArguments*>(a)); }}, \
        {"bert_gelu_backward",                                                                            \
         [](void* a) { SPACE::bert_gelu_backward(*static_cast<SPACE::BertGeluBackwardArguments*>(a)); }}, \
        {"bert_join", [](void* a) { SPACE::bert_join(*static_cast<SPACE::BertJoinArguments*>(a)); }}, {   \
      "bert_sum", [](void* a) { SPACE::bert_sum(*static_cast<SPACE::BertSumArguments*>(a)); }             \
    }                                                                                                     \
  }

const Kernels& kernels_of(std::int64_t hidden, bool bf16) {
  static const std::map<std::pair<std::int64_t, bool>, Kernels> kAll = {{{72, false}, KERNELS_OF(of_72_fp32)},
                                                                        {{264, false}, KERNELS_OF(of_264_fp32)},
                                                                        {{72, true}, KERNELS_OF(of_72_bf16)},
                                                                        {{1024, true}, KERNELS_OF(of_1024_bf16)}};
  return kAll.at({hidden, bf16});
}

}  // namespace

std::shared_ptr<CpuGpuProgram> cpu_bert_program(std::int64_t hidden, bool bf16) {
  return std::make_shared<CpuGpuProgram>(kernels_of(hidden, bf16));
}

}  // namespace hpcbench::train
