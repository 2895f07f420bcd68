#pragma once

// LibTorch's headers define a CHECK of their own: all of them before doctest.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

#include "../torch_doctest.hpp"
#include "kernels/bert_hash.hpp"
#include "tasks/bert_squad/bert.hpp"
#include "tasks/bert_squad/bert_weights.hpp"

// If another file of this program included doctest first, LibTorch has undefined its CHECK.
#ifndef CHECK
#define CHECK(...) DOCTEST_CHECK(__VA_ARGS__)
#endif

namespace hpcbench::train {

/// Returns a shape small enough for fp64 and numerical differences, with odd sizes so that the tails of vectorised loops are
/// tested.
BertConfig tiny_bert_config();

/// Returns rows of the given lengths, of random tokens; token 0 only as padding. `padded_to` 0: packed. Row r is sample number
/// places[r], and its content depends on that number alone.
BertBatch random_batch(const BertConfig& config, const std::vector<std::int64_t>& lengths, std::int64_t padded_to,
                       std::vector<std::int64_t> places = {});

/// Adds noise to every parameter, so that biases and LayerNorms take part, and attention is no mean.
void perturb(Bert& bert, double deviation, std::uint64_t seed);

struct BertOutcome {
  at::Tensor logits;
  double loss = 0;
  std::vector<NamedTensor> gradients;
};

/// Runs forward and backward of a step; gradients are cleared before.
BertOutcome run_step(Bert& bert, const BertBatch& batch, const DropoutKey* dropout);

/// Checks that every gradient and the loss of `a` equal those of `b`: ||a - b|| <= tolerance ||b|| for each tensor, and gauge
/// parameters (whose true gradient is 0) are at most `gauge` of the largest gradient.
void check_same_outcome(const BertOutcome& a, const BertOutcome& b, double tolerance, double gauge);

/// The softmax ignores a shift: key biases, the last output.LayerNorm.bias and qa_outputs.bias have a gradient of 0.
bool is_gauge(const std::string& name, std::int64_t layers);

}  // namespace hpcbench::train
