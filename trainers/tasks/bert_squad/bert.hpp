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

/// Token sequences of one step, rows laid one after the other. Rows of one length with padding at their ends, or rows of their
/// own lengths without any (packed): the same to the model, which sees only row_begin and lengths.
struct BertBatch {
  at::Tensor tokens;                    // int64 [T], T = row_begin.back()
  at::Tensor types;                     // int64 [T]: 0 question, 1 context
  std::vector<std::int64_t> row_begin;  // B + 1 numbers, from 0
  std::vector<std::int64_t> lengths;    // B: tokens of a row that are not padding; keys beyond them are masked
  std::vector<std::int64_t> places;     // B: number of the sample in the step's global batch, for dropout
  std::vector<std::int64_t> starts;     // B: gold positions in the row; row length or more (ignored), see loss()
  std::vector<std::int64_t> ends;
  std::shared_ptr<const BertNumbers> there;  // of what has been brought to the device; see Bert::bring() and prepare()
};

/// fused: own kernels, on a CPU. operators: few operators of LibTorch, on any device. eager: its plain ones, to compare with.
enum class Attention { fused, eager, operators };

/// hash: see DropoutKey. device: what the device's generator draws, seeded for each pass, which costs a GPU far less.
enum class DropoutBits { hash, device };

struct BertOptions {
  at::ScalarType type = at::kFloat;  // of the parameters: kFloat or kDouble
  bool bf16 = false;                 // linears in bfloat16 (autocast; operators: whole layers), parameters stay fp32
  Attention attention = Attention::fused;
  bool checkpoint_activations = false;           // keep only the layers' inputs, compute the rest again in backward
  bool pad_in_softmax = true;                    // padded positions compete for start and end, as at Hugging Face
  DropoutBits dropout_bits = DropoutBits::hash;  // device: with operators only
  // operators: packed rows are filled up to a multiple of so many tokens, so that few shapes occur. Not with hashed dropout.
  std::int64_t tokens_multiple = 1;
  bool fixed_shape = false;  // operators: batches whose rows have the same sizes are computed alike, see Bert::prepare()
  // operators: kernels for what stands between a layer's products, of compile_bert_kernels(); null: LibTorch's operators.
  std::shared_ptr<const GpuProgram> gpu_program = nullptr;
};

/// Whether a layer's attention is one kernel of the device's there, which reads from the device alone where rows begin.
bool has_attention_kernel(const BertConfig& config, const BertOptions& options, at::Device place);

/// What dropout is drawn from: a hash of (seed, step, place in the global batch, site, element), so that it does not depend on
/// padding, packing, world size or the number of threads. Absent rates (0) draw nothing.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
};

/// Sums of a batch's loss, so that ranks and micro-batches can add them: start and end apart.
struct BertLoss {
  at::Tensor mean;  // scalar with gradient: (mean over starts + mean over ends) / 2, of the positions that are not ignored; 0
                    // where none
  at::Tensor start_sum;  // scalars with gradient: the sums over the positions that are counted
  at::Tensor end_sum;
  std::int64_t counted_starts = 0;
  std::int64_t counted_ends = 0;
};

/// BertForQuestionAnswering. Parameters are named as in Hugging Face's files (without pooler), linear weights [out, in].
/// The gradient of the padding token's word embedding (number 0) is 0, as there.
class Bert {
 public:
  /// Weights drawn N(0, initializer_range) from `seed`, biases 0, LayerNorm 1 and 0.
  Bert(const BertConfig& config, const BertOptions& options, std::uint64_t seed);
  ~Bert();
  Bert(Bert&&) noexcept;
  Bert& operator=(Bert&&) noexcept;

  const BertConfig& config() const;
  Model& model();
  /// Takes what logits() and loss() need of a batch to the device together, and seeds the device's generator for its dropout,
  /// which the pass is to draw from next. Where it was not called, each does so by itself.
  void bring(BertBatch& batch, const DropoutKey* dropout) const;
  /// bring(), but for the copy to the device, of BertNumbers::packed: operators only. To be told where it is by
  /// BertNumbers::lie_in(), and given as `batch.there`. Of two batches of one BertNumbers::shape the device does the same work.
  std::shared_ptr<BertNumbers> prepare(const BertBatch& batch, const DropoutKey* dropout) const;
  /// [T, 2]: start and end logits of every token; behind them, with `tokens_multiple`, those of tokens that fill up. `dropout`
  /// null: evaluation. InputError for a batch that does not fit.
  at::Tensor logits(const BertBatch& batch, const DropoutKey* dropout);
  /// (cross-entropy of starts + of ends) / 2 as at Hugging Face: positions are clamped to [0, row length], and a position that
  /// equals the row's length is ignored. The row's length is without padding unless `pad_in_softmax`. `logits` may come from
  /// elsewhere (tests); sums are exact where nothing is counted: 0.
  BertLoss loss(const BertBatch& batch, const at::Tensor& logits);

 private:
  struct State;
  /// The sums of the starts' and of the ends' losses.
  at::Tensor loss_sums(const BertBatch& batch, const at::Tensor& logits) const;
  std::unique_ptr<State> state_;
};

}  // namespace hpcbench::train
