#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "optim/model.hpp"
#include "tasks/bert_squad/bert_config.hpp"

namespace hpcbench::train {

struct BertLinear {
  at::Tensor weight;  // [out, in]
  at::Tensor bias;
};

struct BertNorm {
  at::Tensor weight;
  at::Tensor bias;
};

struct BertLayerWeights {
  BertLinear query, key, value, attention_output;
  BertNorm attention_norm;
  BertLinear intermediate, output;
  BertNorm output_norm;
};

/// The parameters of BertForQuestionAnswering without pooler: the same tensors as in a Model, by meaning instead of by name.
struct BertWeights {
  at::Tensor word, position, type;
  BertNorm embeddings_norm;
  std::vector<BertLayerWeights> layers;
  BertLinear head;
};

/// Number of the padding token. Its word embedding starts at 0 and has no gradient (`padding_idx` of Hugging Face's model).
inline constexpr std::int64_t kPaddingToken = 0;

/// Makes the parameters on the CPU and lists them in `model`. Linear and embedding weights are N(0, initializer_range), drawn
/// in fp32, each from its own generator (seed and name), so that fp32 and fp64 models of a seed are equal; biases are 0,
/// LayerNorms 1 and 0. The weights of query, key and value of a layer are adjacent in memory, and so are their biases.
BertWeights make_bert_weights(const BertConfig& config, at::ScalarType type, std::uint64_t seed, Model& model);

}  // namespace hpcbench::train
