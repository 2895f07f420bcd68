#pragma once

#include <filesystem>
#include <vector>

#include "optim/model.hpp"
#include "tasks/task.hpp"

namespace hpcbench::train {

/// Fills a BertForQuestionAnswering from FOLDER/model.safetensors, strictly: DataError lists names that are missing, unexpected
/// or misshapen. Old names are accepted (LayerNorm.gamma and .beta); tensors of other heads (`cls.*`, the pooler,
/// `position_ids`) are ignored. A file without qa_outputs, the pre-trained model, is allowed: that layer keeps its random
/// weights, and a note reports it. fp16, bf16, fp32 and fp64 are converted. For a folder with only pytorch_model.bin the error
/// explains how to convert it.
std::vector<Note> load_bert_weights(const std::filesystem::path& folder, Model& model);

}  // namespace hpcbench::train
