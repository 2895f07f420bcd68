#pragma once

#include "yaml/yaml_tree.hpp"

namespace hpcbench {

/// Whether a file says anything of GPUs: a word `gpu`, `gpus` or `cuda` in a key or value (`gpus_per_node`, `{{gpus}}`,
/// `gpu_hours`, `gpu:a100:2`, `--device=cuda`), or `peak_tflops`. Ignores prose (`description`), `profiles`, `gpus_per_node:
/// 0`,
/// `--no-cuda` and CUDA_VISIBLE_DEVICES.
bool names_gpus(const YamlNode& node);

}  // namespace hpcbench
