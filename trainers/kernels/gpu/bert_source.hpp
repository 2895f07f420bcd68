#pragma once

namespace hpcbench::train::kernels {

/// BERT's kernels on a GPU, in CUDA C++: bert_arguments.inc and bert_kernels.inc, which cmake puts into the program.
const char* bert_gpu_source();

}  // namespace hpcbench::train::kernels
