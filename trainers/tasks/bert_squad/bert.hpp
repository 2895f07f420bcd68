#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "optim/model.hpp"
#include "tasks/bert_squad/bert_config.hpp"

namespace hpcbench::train {

class GpuProgram;
struct BertNumbers;

/// Token sequences of one step, one row after the other. Rows of one length with padding at their ends, or rows of their own
/// lengths without padding (packed): the model treats both alike, because it sees only row_begin and lengths.
struct BertBatch {
  at::Tensor tokens;                    // int64 [T], T = row_begin.back()
  at::Tensor types;                     // int64 [T]: 0 question, 1 context
  std::vector<std::int64_t> row_begin;  // B + 1 numbers, from 0
  std::vector<std::int64_t> lengths;    // B: tokens of a row that are not padding; keys beyond them are masked
  std::vector<std::int64_t> places;     // B: number of the sample in the step's global batch, for dropout
  std::vector<std::int64_t> starts;     // B: gold positions in the row; row length or more (ignored), see loss()
  std::vector<std::int64_t> ends;
  std::shared_ptr<const BertNumbers> there;  // numbers that are on the device; see Bert::bring() and prepare()
};

/// fused: own kernels, on a CPU. operators: few operators of LibTorch, on any device. eager: plain operators, as a reference.
enum class Attention { fused, eager, operators };

/// hash: see DropoutKey. device: the device's generator, seeded for each pass, which is much cheaper on a GPU.
enum class DropoutBits { hash, device };

struct BertOptions {
  at::ScalarType type = at::kFloat;  // of the parameters: kFloat or kDouble
  bool bf16 = false;                 // linears in bfloat16 (autocast; operators: whole layers), parameters stay fp32
  Attention attention = Attention::fused;
  bool checkpoint_activations = false;           // keep only the layers' inputs, compute the rest again in backward
  bool pad_in_softmax = true;                    // padded positions compete for start and end, as in Hugging Face's model
  DropoutBits dropout_bits = DropoutBits::hash;  // device: with operators only
  // operators: packed rows are filled up to a multiple of this many tokens, so that few shapes occur. Not with hashed dropout.
  std::int64_t tokens_multiple = 1;
  bool fixed_shape = false;  // operators: batches whose rows have the same sizes are computed alike, see Bert::prepare()
  // operators: kernels for the operations between a layer's products, from compile_bert_kernels(); null: LibTorch's operators.
  std::shared_ptr<const GpuProgram> gpu_program = nullptr;
};

/// Returns whether a layer's attention is one kernel of the device, which reads only from the device where rows begin.
bool has_attention_kernel(const BertConfig& config, const BertOptions& options, at::Device place);

/// The key of dropout: its bits are a hash of (seed, step, place in the global batch, site, element), so that they do not
/// depend on padding, packing, world size or the number of threads. A rate of 0 draws nothing.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
};

/// Sums of a batch's loss, so that ranks and micro-batches can be added: start and end separately.
struct BertLoss {
  at::Tensor mean;  // scalar with gradient: (mean over starts + mean over ends) / 2, of the positions that are not ignored; 0
                    // without any
  at::Tensor start_sum;  // scalars with gradient: the sums over the counted positions
  at::Tensor end_sum;
  std::int64_t counted_starts = 0;
  std::int64_t counted_ends = 0;
};

/// BertForQuestionAnswering. Parameters are named as in Hugging Face's files (without pooler), linear weights [out, in]. As
/// there, the gradient of the padding token's word embedding (number 0) is 0.
class Bert {
 public:
  /// Weights drawn N(0, initializer_range) from `seed`, biases 0, LayerNorm 1 and 0.
  Bert(const BertConfig& config, const BertOptions& options, std::uint64_t seed);
  ~Bert();
  Bert(Bert&&) noexcept;
  Bert& operator=(Bert&&) noexcept;

  const BertConfig& config() const;
  Model& model();
  /// Copies the numbers for logits() and loss() of a batch to the device together, and seeds the device's generator for the
  /// dropout of the next pass. Without this call, both do so separately.
  void bring(BertBatch& batch, const DropoutKey* dropout) const;
  /// Like bring(), but leaves the copy of BertNumbers::packed to the device to the caller, who calls BertNumbers::lie_in() and
  /// sets `batch.there`: operators only. For two batches of one BertNumbers::shape the device does the same work.
  std::shared_ptr<BertNumbers> prepare(const BertBatch& batch, const DropoutKey* dropout) const;
  /// Returns [T, 2]: start and end logits of every token; behind them, with `tokens_multiple`, those of filling tokens.
  /// `dropout` null: evaluation. InputError for a batch that does not fit.
  at::Tensor logits(const BertBatch& batch, const DropoutKey* dropout);
  /// Returns (cross-entropy of starts + of ends) / 2 as in Hugging Face's model: positions are clamped to [0, row length], and
  /// a position that equals the row's length is ignored. The row's length excludes padding unless `pad_in_softmax`. `logits`
  /// may come from elsewhere (tests); without counted positions sums are exactly 0.
  BertLoss loss(const BertBatch& batch, const at::Tensor& logits);

 private:
  struct State;
  /// Returns the sums of the starts' and of the ends' losses.
  at::Tensor loss_sums(const BertBatch& batch, const at::Tensor& logits) const;
  std::unique_ptr<State> state_;
};

}  // namespace hpcbench::train
