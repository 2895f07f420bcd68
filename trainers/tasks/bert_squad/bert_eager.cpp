#include "tasks/bert_squad/bert_eager.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>

#include "tasks/bert_squad/bert_masks.hpp"

namespace hpcbench::train {

namespace {

class EagerBert {
 public:
  EagerBert(const BertWeights& weights, const BertConfig& config, const BertOptions& options, const BertRows& rows,
            const DropoutKey* dropout, const Model& model)
      : weights_(weights), config_(config), options_(options), rows_(rows), dropout_(dropout, config), model_(model) {}

  at::Tensor logits() {
    const auto layers = static_cast<int>(config_.num_hidden_layers);
    at::Tensor x = in_unit(model_, 0, [&] { return embeddings(); });
    for (int number = 0; number < layers; ++number) x = in_unit(model_, number + 1, [&] { return layer(x, number); });
    return in_unit(model_, layers + 1, [&] { return linear(x, weights_.head); });
  }

 private:
  at::Tensor embeddings() {
    // Backward reads the numbers again, when the batch may be gone.
    const auto ids = [&](const std::int64_t* numbers) {
      return at::from_blob(const_cast<std::int64_t*>(numbers), {rows_.tokens}, at::kLong).clone().to(weights_.word.device());
    };
    at::Tensor x = at::embedding(weights_.word, ids(rows_.ids), kPaddingToken) +
                   at::embedding(weights_.position, ids(rows_.positions.data())) +
                   at::embedding(weights_.type, ids(rows_.types));
    return dropped(norm(x, weights_.embeddings_norm), dropout_.embeddings());
  }

  at::Tensor layer(const at::Tensor& x, std::int64_t number) {
    const BertLayerWeights& layer = weights_.layers[static_cast<std::size_t>(number)];
    const at::Tensor query = linear(x, layer.query);
    const at::Tensor key = linear(x, layer.key);
    const at::Tensor value = linear(x, layer.value);
    const at::Tensor attended = linear(attention(query, key, value, dropout_.attention(number)), layer.attention_output);
    const at::Tensor y = norm(dropped(attended, dropout_.attention_output(number)) + x, layer.attention_norm);
    const at::Tensor z = linear(at::gelu(linear(y, layer.intermediate)), layer.output);
    return norm(dropped(z, dropout_.output(number)) + y, layer.output_norm);
  }

  at::Tensor attention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                       const kernels::DropoutSite& site) {
    bool are_equal = true;
    for (std::int64_t row = 1; row < rows_.count; ++row) are_equal = are_equal && rows_.size(row) == rows_.size(0);
    if (are_equal) return attention_of_equal_rows(query, key, value, site);
    std::vector<at::Tensor> contexts;
    for (std::int64_t row = 0; row < rows_.count; ++row) contexts.push_back(attention_of_row(query, key, value, row, site));
    return at::cat(contexts);
  }

  /// Computes all rows at once if they are of one size: [tokens, hidden]. Padding among the keys is at -inf.
  at::Tensor attention_of_equal_rows(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                                     const kernels::DropoutSite& site) {
    const std::int64_t heads = config_.num_attention_heads;
    const std::int64_t size = rows_.size(0);
    const auto split = [&](const at::Tensor& x) {
      return x.view({rows_.count, size, heads, config_.hidden_size / heads}).transpose(1, 2);
    };
    at::Tensor scores = at::matmul(split(query), split(key).transpose(2, 3)) / std::sqrt(config_.hidden_size / heads);
    if (const at::Tensor padding = padded_keys(size); padding.defined())
      scores = scores.masked_fill(padding.to(scores.device()), -std::numeric_limits<double>::infinity());
    at::Tensor probabilities = at::softmax(scores, -1);
    if (site.on()) {
      std::vector<std::uint64_t> of_rows;
      for (std::int64_t row = 0; row < rows_.count; ++row) add_attention_keys(site, rows_, row, heads, of_rows);
      const at::Tensor mask = bert_mask(site, of_rows, size, probabilities.scalar_type(), probabilities.device());
      probabilities = probabilities * mask.view(probabilities.sizes());
    }
    return at::matmul(probabilities, split(value)).transpose(1, 2).reshape({rows_.tokens, config_.hidden_size});
  }

  /// Returns [rows, 1, 1, size]: true for keys that are padding; undefined without padding.
  at::Tensor padded_keys(std::int64_t size) const {
    bool any = false;
    at::Tensor padding = at::zeros({rows_.count, 1, 1, size}, at::kBool);
    for (std::int64_t row = 0; row < rows_.count; ++row) {
      const std::int64_t keys = rows_.keys[static_cast<std::size_t>(row)];
      if (keys == size) continue;
      padding.select(0, row).narrow(2, keys, size - keys).fill_(true);
      any = true;
    }
    return any ? padding : at::Tensor();
  }

  /// Computes one row, all heads: [size, hidden]. Padding is omitted from the keys, which equals a mask of -inf.
  at::Tensor attention_of_row(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, std::int64_t row,
                              const kernels::DropoutSite& site) {
    const std::int64_t heads = config_.num_attention_heads;
    const std::int64_t width = config_.hidden_size / heads;
    const std::int64_t begin = rows_.begin[static_cast<std::size_t>(row)];
    const std::int64_t keys = rows_.keys[static_cast<std::size_t>(row)];
    const auto split = [&](const at::Tensor& x, std::int64_t count) {
      return x.narrow(0, begin, count).view({count, heads, width}).transpose(0, 1);
    };
    const at::Tensor scores = at::matmul(split(query, rows_.size(row)), split(key, keys).transpose(1, 2)) / std::sqrt(width);
    at::Tensor probabilities = at::softmax(scores, -1);
    if (site.on()) probabilities = probabilities * bert_attention_mask(site, rows_, row, probabilities);
    return at::matmul(probabilities, split(value, keys)).transpose(0, 1).reshape({rows_.size(row), config_.hidden_size});
  }

  at::Tensor dropped(const at::Tensor& x, const kernels::DropoutSite& site) const {
    if (!site.on()) return x;
    std::vector<std::uint64_t> of_rows;
    for (const std::uint64_t token : rows_.token_keys) of_rows.push_back(kernels::row_key(site, token));
    return x * bert_mask(site, of_rows, x.size(1), x.scalar_type(), x.device());
  }

  at::Tensor norm(const at::Tensor& x, const BertNorm& norm) const {
    return at::layer_norm(x, {config_.hidden_size}, norm.weight, norm.bias, config_.layer_norm_eps);
  }

  at::Tensor linear(const at::Tensor& x, const BertLinear& linear) const {
    if (!options_.bf16) return at::linear(x, linear.weight, linear.bias);
    const at::ScalarType half = at::kBFloat16;
    return at::linear(x.to(half), linear.weight.to(half), linear.bias.to(half)).to(options_.type);
  }

  const BertWeights& weights_;
  const BertConfig& config_;
  const BertOptions& options_;
  const BertRows& rows_;
  BertDropout dropout_;
  const Model& model_;
};

}  // namespace

at::Tensor eager_logits(const BertWeights& weights, const BertConfig& config, const BertOptions& options, const BertRows& rows,
                        const DropoutKey* dropout, const Model& model) {
  return EagerBert(weights, config, options, rows, dropout, model).logits();
}

at::Tensor eager_loss_sums(const BertBatch& batch, const at::Tensor& logits, bool pad_in_softmax) {
  // An empty sum: 0, with a gradient, if no position counts.
  at::Tensor sums[2] = {logits.narrow(0, 0, 0).sum(), logits.narrow(0, 0, 0).sum()};
  for (std::size_t row = 0; row < batch.lengths.size(); ++row) {
    for (std::int64_t column = 0; column < 2; ++column) {
      const BertTarget target = bert_target(batch, pad_in_softmax, row, column == 1);
      if (!target.counted) continue;
      const at::Tensor competing = logits.select(1, column).narrow(0, batch.row_begin[row], target.competing);
      sums[column] = sums[column] - at::log_softmax(competing, 0).select(0, target.position);
    }
  }
  return at::stack({sums[0], sums[1]});
}

}  // namespace hpcbench::train
