#pragma once

#include "tasks/bert_squad/bert_layer.hpp"
#include "tasks/bert_squad/bert_products.hpp"

namespace hpcbench::train {

/// Forward and backward of an encoder layer, without autograd: products through the library, everything between them in one
/// pass each.
template <class T, class M>
class BertLayerPass {
 public:
  BertLayerPass(BertStep& step, std::int64_t number)
      : step_(step),
        number_(static_cast<std::size_t>(number)),
        weights_(step.weights->layers[number_]),
        tokens_(step.rows.tokens),
        hidden_(step.config.hidden_size),
        inner_(step.config.intermediate_size) {}

  /// Returns y, and stores in `saved` what backward needs; step.matrix becomes y for products.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& matrix, BertLayerSaved& saved) {
    saved.x = x;
    saved.matrix = matrix.defined() ? matrix : to_matrix(x);
    make_weights(saved);
    saved.qkv = take_matrix(3 * hidden_);
    bert_product(saved.qkv, saved.matrix, saved.weights[0].t());
    attention(saved);
    const at::Tensor attended = take_matrix(hidden_);
    bert_product(attended, saved.context, saved.weights[1].t());
    saved.x_hat1 = take_rows(hidden_);
    saved.reciprocal1 = step_.take({tokens_}, kBertType<T>);
    saved.y1 = take_rows(hidden_);
    saved.y1_matrix = kSame ? saved.y1 : take_matrix(hidden_);
    add_norm({attended, weights_.attention_output.bias, x, weights_.attention_norm, saved.x_hat1, saved.reciprocal1, saved.y1,
              saved.y1_matrix, step_.attention_output_sites[number_]});
    saved.u = take_matrix(inner_);
    bert_product(saved.u, saved.y1_matrix, saved.weights[2].t());
    const at::Tensor g = take_matrix(inner_);
    kernels::Gelu<T, M> gelu{tokens_, inner_, bert_data<M>(saved.u), bert_data<T>(weights_.intermediate.bias), bert_data<M>(g)};
    bert_parallel(&kernels::gelu_forward<T, M>, gelu, kernels::blocks_of(tokens_), 1);
    bert_zero_rows(g, tokens_);
    const at::Tensor out = take_matrix(hidden_);
    bert_product(out, g, saved.weights[3].t());
    saved.x_hat2 = take_rows(hidden_);
    saved.reciprocal2 = step_.take({tokens_}, kBertType<T>);
    const at::Tensor y = take_rows(hidden_);
    step_.matrix = kSame ? y : take_matrix(hidden_);
    add_norm({out, weights_.output.bias, saved.y1, weights_.output_norm, saved.x_hat2, saved.reciprocal2, y, step_.matrix,
              step_.output_sites[number_]});
    if (!kSame) saved.y1.reset();
    return y;
  }

  /// Releases the tensors in `saved` as soon as possible, to make room for the next gradients.
  BertLayerGradients backward(const at::Tensor& dy, BertLayerSaved& saved) {
    // The feed-forward part: y = norm(dropout(gelu(y1 Wi + bi) Wo + bo) + y1).
    const NormDerivative second =
        add_norm_backward(dy, at::Tensor(), saved.x_hat2, saved.reciprocal2, weights_.output_norm, step_.output_sites[number_]);
    saved.x_hat2.reset();
    at::Tensor du = take_matrix(inner_);
    bert_product(du, second.da, saved.weights[3]);
    const at::Tensor intermediate_bias = gelu_backward(saved.u, du);  // du was dg; u becomes g
    const at::Tensor output_weight = weight_gradient(second.da, saved.u);
    saved.u.reset();
    const at::Tensor intermediate_weight = weight_gradient(du, saved.y1_matrix);
    saved.y1.reset();
    saved.y1_matrix.reset();
    const at::Tensor dy1 = take_matrix(hidden_);
    bert_product(dy1, du, saved.weights[2]);
    du.reset();
    // The attention part: y1 = norm(dropout(context Wa + ba) + x).
    const NormDerivative first = add_norm_backward(second.dz, dy1, saved.x_hat1, saved.reciprocal1, weights_.attention_norm,
                                                   step_.attention_output_sites[number_]);
    saved.x_hat1.reset();
    const at::Tensor dcontext = take_matrix(hidden_);
    bert_product(dcontext, first.da, saved.weights[1]);
    const at::Tensor attention_weight = weight_gradient(first.da, saved.context);
    const at::Tensor dqkv = take_matrix(3 * hidden_);
    const at::Tensor qkv_bias = attention_backward(saved, dcontext, dqkv);
    const at::Tensor qkv_weight = weight_gradient(dqkv, saved.matrix);
    bert_product(dcontext, dqkv, saved.weights[0]);
    kernels::AddMatrix<T, M> add{bert_data<T>(first.dz), bert_data<M>(dcontext)};
    bert_parallel(&kernels::add_matrix<T, M>, add, tokens_ * hidden_, kGrain);
    BertLayerGradients gradients;
    gradients.x = first.dz;
    for (std::int64_t part = 0; part < 3; ++part) gradients.parameters.push_back(qkv_weight.narrow(0, part * hidden_, hidden_));
    for (std::int64_t part = 0; part < 3; ++part) gradients.parameters.push_back(qkv_bias.narrow(0, part * hidden_, hidden_));
    for (const at::Tensor& gradient : {attention_weight, first.dbias, first.dgamma, first.dbeta, intermediate_weight,
                                       intermediate_bias, output_weight, second.dbias, second.dgamma, second.dbeta}) {
      gradients.parameters.push_back(gradient);
    }
    return gradients;
  }

 private:
  static constexpr bool kSame = std::is_same_v<T, M>;
  static constexpr std::int64_t kGrain = 16384;  // elements: less does not justify a second thread

  struct NormInputs {
    const at::Tensor& a;
    const at::Tensor& bias;
    const at::Tensor& residual;
    const BertNorm& norm;
    const at::Tensor &x_hat, &reciprocal, &y, &y_matrix;
    const kernels::DropoutSite& site;
  };
  struct NormDerivative {
    at::Tensor dz, da, dgamma, dbeta, dbias;
  };

  at::Tensor take_rows(std::int64_t width) const { return step_.take({step_.padded_rows, width}, kBertType<T>); }
  at::Tensor take_matrix(std::int64_t width) const { return step_.take({step_.padded_rows, width}, kBertType<M>); }

  at::Tensor to_matrix(const at::Tensor& values) const {
    if constexpr (kSame) {
      return values;
    } else {
      const at::Tensor matrix = step_.take(values.sizes(), kBertType<M>);
      kernels::Convert<T, M> convert{bert_data<T>(values), bert_data<M>(matrix)};
      bert_parallel(&kernels::to_matrix<T, M>, convert, values.numel(), kGrain);
      return matrix;
    }
  }

  /// [3H, H]: the tensors themselves if they are adjacent in one storage, else a copy.
  at::Tensor joined_weights() const {
    const at::Tensor* parts[] = {&weights_.query.weight, &weights_.key.weight, &weights_.value.weight};
    const std::int64_t size = hidden_ * hidden_;
    const at::Tensor first = parts[0]->detach();
    const bool side_by_side = parts[1]->is_alias_of(first) && parts[2]->is_alias_of(first) &&
                              parts[1]->storage_offset() == first.storage_offset() + size &&
                              parts[2]->storage_offset() == first.storage_offset() + 2 * size;
    if (side_by_side) return first.as_strided({3 * hidden_, hidden_}, {hidden_, 1}, first.storage_offset());
    const at::Tensor joined = step_.take({3 * hidden_, hidden_}, kBertType<T>);
    for (std::int64_t part = 0; part < 3; ++part) joined.narrow(0, part * hidden_, hidden_).copy_(parts[part]->detach());
    return joined;
  }

  void make_weights(BertLayerSaved& saved) const {
    saved.weights[0] = to_matrix(joined_weights());
    saved.weights[1] = to_matrix(weights_.attention_output.weight.detach());
    saved.weights[2] = to_matrix(weights_.intermediate.weight.detach());
    saved.weights[3] = to_matrix(weights_.output.weight.detach());
  }

  void add_norm(const NormInputs& in) const {
    kernels::NormForward<T, M> args;
    args.width = hidden_;
    args.eps = step_.config.layer_norm_eps;
    args.site = in.site;
    args.token_keys = step_.rows.token_keys.data();
    args.a = bert_data<M>(in.a);
    args.bias = bert_data<T>(in.bias);
    args.residual = bert_data<T>(in.residual);
    args.gamma = bert_data<T>(in.norm.weight);
    args.beta = bert_data<T>(in.norm.bias);
    args.x_hat = bert_data<T>(in.x_hat);
    args.reciprocal = bert_data<T>(in.reciprocal);
    args.y = bert_data<T>(in.y);
    args.y_matrix = kSame ? nullptr : bert_data<M>(in.y_matrix);
    bert_parallel(&kernels::norm_forward<T, M>, args, tokens_, kernels::kRowsOfBlock);
    bert_zero_rows(in.y, tokens_);
    if (!kSame) bert_zero_rows(in.y_matrix, tokens_);
  }

  NormDerivative add_norm_backward(const at::Tensor& dy, const at::Tensor& dy_matrix, const at::Tensor& x_hat,
                                   const at::Tensor& reciprocal, const BertNorm& norm, const kernels::DropoutSite& site) const {
    NormDerivative out;
    out.dz = take_rows(hidden_);
    out.da = take_matrix(hidden_);
    const std::int64_t blocks = kernels::blocks_of(tokens_);
    const at::Tensor sums = step_.take({blocks, 3 * hidden_}, kBertType<T>);
    kernels::NormBackward<T, M> args;
    args.rows = tokens_;
    args.width = hidden_;
    args.site = site;
    args.token_keys = step_.rows.token_keys.data();
    args.dy = bert_data<T>(dy);
    args.dy_matrix = dy_matrix.defined() ? bert_data<M>(dy_matrix) : nullptr;
    args.x_hat = bert_data<T>(x_hat);
    args.reciprocal = bert_data<T>(reciprocal);
    args.gamma = bert_data<T>(norm.weight);
    args.dz = bert_data<T>(out.dz);
    args.da = bert_data<M>(out.da);
    args.sums = bert_data<T>(sums);
    bert_parallel(&kernels::norm_backward<T, M>, args, blocks, 1);
    bert_zero_rows(out.dz, tokens_);
    bert_zero_rows(out.da, tokens_);
    const at::Tensor total = add_blocks(sums);
    out.dgamma = total.narrow(0, 0, hidden_);
    out.dbeta = total.narrow(0, hidden_, hidden_);
    out.dbias = total.narrow(0, 2 * hidden_, hidden_);
    return out;
  }

  at::Tensor add_blocks(const at::Tensor& sums) const {
    const at::Tensor total = step_.take({sums.size(1)}, kBertType<T>);
    kernels::SumBlocks<T, M> args{bert_data<T>(sums), sums.size(0), sums.size(1), bert_data<T>(total)};
    bert_parallel(&kernels::sum_blocks<T, M>, args, sums.size(1), 1024);
    return total;
  }

  at::Tensor gelu_backward(const at::Tensor& u, const at::Tensor& dg) const {
    const std::int64_t blocks = kernels::blocks_of(tokens_);
    const at::Tensor sums = step_.take({blocks, inner_}, kBertType<T>);
    kernels::Gelu<T, M> args{tokens_,         inner_,           bert_data<M>(u),   bert_data<T>(weights_.intermediate.bias),
                             bert_data<M>(u), bert_data<M>(dg), bert_data<T>(sums)};
    bert_parallel(&kernels::gelu_backward<T, M>, args, blocks, 1);
    bert_zero_rows(u, tokens_);
    return add_blocks(sums);
  }

  /// d^T a in fp32 or fp64: [out, in].
  at::Tensor weight_gradient(const at::Tensor& d, const at::Tensor& a) const {
    const at::Tensor gradient = step_.take({d.size(1), a.size(1)}, kBertType<T>);
    if constexpr (kSame) {
      bert_product(gradient, d.t(), a);
    } else {
      const at::Tensor matrix = step_.take(gradient.sizes(), kBertType<M>);
      bert_product(matrix, d.t(), a);
      kernels::Convert<T, M> convert{bert_data<T>(gradient), bert_data<M>(matrix)};
      bert_parallel(&kernels::from_matrix<T, M>, convert, gradient.numel(), kGrain);
    }
    return gradient;
  }

  kernels::Attention<T, M> attention_args(const BertLayerSaved& saved) const {
    kernels::Attention<T, M> args;
    args.heads = step_.config.num_attention_heads;
    args.head_width = hidden_ / args.heads;
    args.site = step_.attention_sites[number_];
    args.token_keys = step_.rows.token_keys.data();
    args.row_begin = step_.rows.begin.data();
    args.row_keys = step_.rows.keys.data();
    args.qkv = bert_data<M>(saved.qkv);
    args.bias[0] = bert_data<T>(weights_.query.bias);
    args.bias[1] = bert_data<T>(weights_.key.bias);
    args.bias[2] = bert_data<T>(weights_.value.bias);
    args.context = bert_data<M>(saved.context);
    args.row_max = bert_data<T>(saved.row_max);
    args.row_scale = bert_data<T>(saved.row_scale);
    args.tokens = tokens_;
    return args;
  }

  /// Threads take tasks one by one, since rows differ in length; the result of a task does not depend on its thread.
  void run_attention(void (*kernel)(const kernels::Attention<T, M>&, std::int64_t, std::int64_t),
                     const kernels::Attention<T, M>& args) const {
    std::int64_t longest = 0;
    for (std::int64_t row = 0; row < step_.rows.count; ++row) longest = std::max(longest, step_.rows.size(row));
    const std::int64_t tasks = step_.rows.count * args.heads;
    const std::int64_t threads = std::min<std::int64_t>(at::get_num_threads(), tasks);
    const at::Tensor workspace = step_.take({threads, kernels::attention_workspace(longest, args.head_width)}, kBertType<T>);
    std::atomic<std::int64_t> next = 0;
    at::parallel_for(0, threads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t thread = begin; thread < end; ++thread) {
        kernels::Attention<T, M> own = args;
        own.workspace = bert_data<T>(workspace) + thread * workspace.size(1);
        for (std::int64_t task = next++; task < tasks; task = next++) kernel(own, task, task + 1);
      }
    });
  }

  void attention(BertLayerSaved& saved) const {
    saved.context = take_matrix(hidden_);
    saved.row_max = step_.take({step_.config.num_attention_heads, tokens_}, kBertType<T>);
    saved.row_scale = step_.take({step_.config.num_attention_heads, tokens_}, kBertType<T>);
    run_attention(&kernels::attention_forward<T, M>, attention_args(saved));
    bert_zero_rows(saved.context, tokens_);
  }

  at::Tensor attention_backward(const BertLayerSaved& saved, const at::Tensor& dcontext, const at::Tensor& dqkv) const {
    const at::Tensor dbias = step_.take({step_.rows.count, 3 * hidden_}, kBertType<T>);
    kernels::Attention<T, M> args = attention_args(saved);
    args.dcontext = bert_data<M>(dcontext);
    args.dqkv = bert_data<M>(dqkv);
    args.dbias = bert_data<T>(dbias);
    run_attention(&kernels::attention_backward<T, M>, args);
    bert_zero_rows(dqkv, tokens_);
    return add_blocks(dbias);
  }

  BertStep& step_;
  std::size_t number_;
  const BertLayerWeights& weights_;
  std::int64_t tokens_;
  std::int64_t hidden_;
  std::int64_t inner_;
};

}  // namespace hpcbench::train
