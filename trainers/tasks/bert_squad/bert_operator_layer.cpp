#include "tasks/bert_squad/bert_operator_layer.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/native_dropout.h>
#include <ATen/ops/native_dropout_backward.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/sum.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "tasks/bert_squad/bert_gpu_rows.hpp"
#include "tasks/bert_squad/bert_masks.hpp"

namespace hpcbench::train {

namespace {

/// The places of a layer's tensors, with query, key and value as one: parameters, their copies or their gradients.
enum LayerTensor : std::size_t {
  kQkvWeight,
  kQkvBias,
  kAttentionWeight,
  kAttentionBias,
  kAttentionNormWeight,
  kAttentionNormBias,
  kInnerWeight,
  kInnerBias,
  kOutputWeight,
  kOutputBias,
  kOutputNormWeight,
  kOutputNormBias,
  kLayerTensors
};

/// Returns tensors one below the other: a view if they are adjacent in memory, else a copy.
at::Tensor below_each_other(const at::Tensor& a, const at::Tensor& b, const at::Tensor& c) {
  const auto follows = [](const at::Tensor& next, const at::Tensor& last) {
    return next.is_alias_of(last) && next.storage_offset() == last.storage_offset() + last.numel();
  };
  if (!follows(b, a) || !follows(c, b)) return at::cat({a, b, c});
  std::vector<std::int64_t> sizes = a.sizes().vec();
  sizes.front() *= 3;
  return at::as_strided(a, sizes, a.strides(), a.storage_offset());
}

LayerTensors parameters_of(const BertLayerWeights& layer) {
  return {below_each_other(layer.query.weight, layer.key.weight, layer.value.weight),
          below_each_other(layer.query.bias, layer.key.bias, layer.value.bias),
          layer.attention_output.weight,
          layer.attention_output.bias,
          layer.attention_norm.weight,
          layer.attention_norm.bias,
          layer.intermediate.weight,
          layer.intermediate.bias,
          layer.output.weight,
          layer.output.bias,
          layer.output_norm.weight,
          layer.output_norm.bias};
}

/// Returns copies in another type, by one operator, written into `copies` if given; the tensors themselves if all have that
/// type.
LayerTensors in_type(const LayerTensors& tensors, at::ScalarType type, LayerTensors copies = {}) {
  if (std::ranges::all_of(tensors, [type](const at::Tensor& each) { return each.scalar_type() == type; })) return tensors;
  if (copies.empty()) {
    for (const at::Tensor& each : tensors) copies.push_back(at::empty(each.sizes(), each.options().dtype(type)));
  }
  at::_foreach_copy_(copies, tensors);
  return copies;
}

/// The values that a normalisation keeps.
struct NormSaved {
  at::Tensor x;
  at::Tensor mean, inverse_deviation;  // of LibTorch's operator
  at::Tensor mask;                     // of the dropout before it, if it cannot be drawn again
  at::Tensor statistics;               // of BertGpuRows
};

/// The data in the layer's node of the graph.
struct OperatorLayerState : torch::CustomClassHolder {
  std::shared_ptr<const OperatorPass> pass;
  std::int64_t number = 0;
  LayerTensors copies;  // empty: made again
  at::Tensor x, context, y, inner, activated;
  NormSaved attention_norm, output_norm;
  VarlenSaved attention;
  bool used = false;
};

/// One layer's computing, forward or backward.
class OperatorLayerPass {
 public:
  explicit OperatorLayerPass(OperatorLayerState& state)
      : state_(state), pass_(*state.pass), step_(*pass_.step), number_(static_cast<std::size_t>(state.number)) {}

  at::Tensor forward(const at::Tensor& x) {
    const LayerTensors p = state_.copies.empty() ? parameters() : state_.copies;
    state_.x = x;
    state_.context = attention(at::addmm(p[kQkvBias], x, p[kQkvWeight].t()));
    const at::Tensor attended = at::addmm(p[kAttentionBias], state_.context, p[kAttentionWeight].t());
    state_.y = residual_norm(attended, x, p, attention_norm());
    state_.inner = at::addmm(p[kInnerBias], state_.y, p[kInnerWeight].t());
    state_.activated = at::gelu(state_.inner);
    const at::Tensor z = at::addmm(p[kOutputBias], state_.activated, p[kOutputWeight].t());
    return residual_norm(z, state_.y, p, output_norm());
  }

  /// Returns the derivative by x, then those by the parameters.
  std::pair<at::Tensor, LayerTensors> backward(const at::Tensor& towards) {
    const LayerTensors p = state_.copies.empty() ? parameters() : std::move(state_.copies);
    auto [of_last, of_z] = residual_norm_backward(towards, p, output_norm());
    of_[kOutputWeight] = weight_gradient(of_z, state_.activated);
    const at::Tensor of_inner = gelu_backward(at::mm(of_z, p[kOutputWeight]));
    of_[kInnerWeight] = weight_gradient(of_inner, state_.y);
    const at::Tensor of_y = of_last.addmm_(of_inner, p[kInnerWeight]);  // not needed elsewhere
    auto [of_added, of_attended] = residual_norm_backward(of_y, p, attention_norm());
    of_[kAttentionWeight] = weight_gradient(of_attended, state_.context);
    const at::Tensor of_qkv = attention_backward(at::mm(of_attended, p[kAttentionWeight]));
    of_[kQkvWeight] = weight_gradient(of_qkv, state_.x);
    add_partial_sums();
    return {of_added.addmm_(of_qkv, p[kQkvWeight]), in_type(of_, step_.options.type)};
  }

 private:
  LayerTensors parameters() const { return in_type(parameters_of(step_.weights->layers[number_]), step_.matrix_type()); }

  /// A normalisation and the operations before it: its input is `bias`'s product after dropout plus a residual.
  struct NormPlace {
    std::size_t weight, bias;  // LayerTensors
    const kernels::DropoutSite& site;
    NormSaved& saved;
  };
  NormPlace attention_norm() {
    return {kAttentionNormWeight, kAttentionBias, step_.attention_output_sites[number_], state_.attention_norm};
  }
  NormPlace output_norm() { return {kOutputNormWeight, kOutputBias, step_.output_sites[number_], state_.output_norm}; }

  GpuDropout gpu_dropout(const kernels::DropoutSite& site) const {
    return {site, step_.numbers->token_keys, step_.numbers->site_keys};
  }

  /// Normalises x after dropout, plus `residual`. Must be the only owner of x.
  at::Tensor residual_norm(const at::Tensor& x, const at::Tensor& residual, const LayerTensors& p,
                           const NormPlace& place) const {
    NormSaved& saved = place.saved;
    const double eps = step_.config.layer_norm_eps;
    if (pass_.gpu_rows) {
      const GpuNorm made =
          pass_.gpu_rows->norm(x, residual, p[place.weight], p[place.weight + 1], gpu_dropout(place.site), eps);
      saved.x = made.sum;
      saved.statistics = made.statistics;
      return made.y;
    }
    Dropped dropped = pass_.dropped(x, place.site);
    saved.mask = dropped.mask;
    saved.x = dropped.value.add_(residual);
    at::Tensor y;
    std::tie(y, saved.mean, saved.inverse_deviation) =
        at::native_layer_norm(saved.x, {x.size(1)}, p[place.weight], p[place.weight + 1], eps);
    return y;
  }

  /// Returns the derivatives by the residual and by x; records those by the normalisation's parameters and by the bias of x.
  std::pair<at::Tensor, at::Tensor> residual_norm_backward(const at::Tensor& towards, const LayerTensors& p,
                                                           const NormPlace& place) {
    const NormSaved& saved = place.saved;
    if (pass_.gpu_rows) {
      const GpuNormGradients made =
          pass_.gpu_rows->norm_backward(towards, {{}, saved.x, saved.statistics}, p[place.weight], gpu_dropout(place.site));
      partial_sums_.push_back({made.partial, {place.weight, place.weight + 1, place.bias}});
      return {made.of_sum, made.of_x};
    }
    at::Tensor of_sum;
    std::tie(of_sum, of_[place.weight], of_[place.weight + 1]) =
        at::native_layer_norm_backward(towards, saved.x, {saved.x.size(1)}, saved.mean, saved.inverse_deviation,
                                       p[place.weight], p[place.weight + 1], {true, true, true});
    const at::Tensor of_x = pass_.dropped_backward(of_sum, saved.mask, place.site);
    of_[place.bias] = at::sum(of_x, 0);
    return {of_sum, of_x};
  }

  /// Must be the only owner of `towards`.
  at::Tensor gelu_backward(const at::Tensor& towards) {
    if (pass_.gpu_rows) {
      const GpuSummed made = pass_.gpu_rows->gelu_backward(towards, state_.inner);
      partial_sums_.push_back({made.partial, {kInnerBias}});
      return made.matrix;
    }
    at::Tensor of_inner = at::gelu_backward(towards, state_.inner);
    of_[kInnerBias] = at::sum(of_inner, 0);
    return of_inner;
  }

  /// Returns the gradient of a product's weight. Beside our kernels, whose sums are fp32, the sums of bf16 products on a GPU
  /// are not rounded to bf16 on their way to the parameters' fp32; otherwise one operator copies all gradients of a layer,
  /// which must then have one type.
  at::Tensor weight_gradient(const at::Tensor& towards, const at::Tensor& x) const {
    const bool is_widened = pass_.gpu_rows && towards.is_cuda() && towards.scalar_type() == at::kBFloat16;
    return is_widened ? at::mm(towards.t(), x, at::kFloat) : at::mm(towards.t(), x);
  }

  at::Tensor attention(const at::Tensor& qkv) {
    const std::int64_t heads = step_.config.num_attention_heads;
    const at::Tensor parts = qkv.view({qkv.size(0), 3, heads, qkv.size(1) / 3 / heads});
    VarlenSaved& saved = state_.attention;
    saved.query = parts.select(1, 0);
    saved.key = parts.select(1, 1);
    saved.value = parts.select(1, 2);
    return varlen_attention(pass_.rows, attention_dropout(), saved).reshape({qkv.size(0), qkv.size(1) / 3});
  }

  at::Tensor attention_backward(const at::Tensor& towards) {
    const VarlenSaved& saved = state_.attention;
    const VarlenGradients gradients =
        varlen_attention_backward(pass_.rows, attention_dropout(), saved, towards.view(saved.query.sizes()));
    if (pass_.gpu_rows) {
      const auto flat = [](const at::Tensor& part) { return part.flatten(1); };
      const GpuSummed made = pass_.gpu_rows->join({flat(gradients.query), flat(gradients.key), flat(gradients.value)});
      partial_sums_.push_back({made.partial, {kQkvBias}});
      return made.matrix;
    }
    at::Tensor of_qkv = beside_each_other(gradients);
    of_[kQkvBias] = at::sum(of_qkv, 0);
    return of_qkv;
  }

  VarlenDropout attention_dropout() const {
    const kernels::DropoutSite& site = step_.attention_sites[number_];
    if (!site.on()) return {};
    const bool is_hashed = step_.options.dropout_bits == DropoutBits::hash;
    const auto draw = [this, &site, is_hashed](const at::Tensor& probabilities, std::int64_t row) -> Dropped {
      if (!is_hashed) {
        auto [value, mask] = at::native_dropout(probabilities, site.rate(), true);
        return {value, mask};
      }
      const at::Tensor mask = bert_attention_mask(site, step_.rows, row, probabilities);
      return {probabilities * mask, mask};
    };
    const auto back = [&site, is_hashed](const at::Tensor& towards, const at::Tensor& mask) {
      return is_hashed ? towards * mask : at::native_dropout_backward(towards, mask, site.kept);
    };
    return {site.rate(), is_hashed, draw, back};
  }

  /// Sums all pending partial sums by one launch.
  void add_partial_sums() {
    if (partial_sums_.empty()) return;
    std::vector<at::Tensor> partial;
    for (const PartialSums& each : partial_sums_) partial.push_back(each.partial);
    const at::Tensor sums = pass_.gpu_rows->sums(partial);
    std::int64_t begin = 0;
    for (const PartialSums& each : partial_sums_) {
      const std::int64_t width = each.partial.size(1) / std::ssize(each.places);
      for (const std::size_t place : each.places) {
        of_[place] = sums.narrow(0, begin, width);
        begin += width;
      }
    }
  }

  /// Partial sums, which are the derivatives by the parameters at `places`, side by side.
  struct PartialSums {
    at::Tensor partial;
    std::vector<std::size_t> places;  // LayerTensors
  };
  std::vector<PartialSums> partial_sums_;
  LayerTensors of_ = LayerTensors(kLayerTensors);  // the derivatives by the parameters

  OperatorLayerState& state_;
  const OperatorPass& pass_;
  const BertStep& step_;
  std::size_t number_;
};

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class OperatorLayerFunction : public torch::autograd::Function<OperatorLayerFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, at::TensorList /*parameters*/,
                            const c10::intrusive_ptr<OperatorLayerState>& state) {
    const at::AutoDispatchBelowADInplaceOrView no_graph;  // nor the cost of its dispatch
    at::Tensor result = OperatorLayerPass(*state).forward(x);
    context->saved_data["state"] = at::IValue::make_capsule(state);
    return result;
  }

  static variable_list backward(AutogradContext* context, variable_list derivatives) {
    const auto capsule = context->saved_data["state"].toCapsule();
    auto& state = static_cast<OperatorLayerState&>(*capsule);
    TORCH_CHECK(!state.used, "error: backward through this forward pass of BERT was done before");
    const at::AutoDispatchBelowADInplaceOrView no_graph;
    auto [of_x, of] = OperatorLayerPass(state).backward(derivatives[0].contiguous());
    // The graph lives until the loss is released; its tensors do not.
    const auto pass = state.pass;
    state.attention = {};
    state.attention_norm = state.output_norm = {};
    for (at::Tensor* each : {&state.x, &state.context, &state.y, &state.inner, &state.activated}) each->reset();
    state.used = true;
    variable_list result = {of_x};
    for (const std::size_t joint : {kQkvWeight, kQkvBias}) {
      for (const at::Tensor& part : of[joint].chunk(3, 0)) result.push_back(part);
    }
    result.insert(result.end(), of.begin() + kAttentionWeight, of.end());
    result.resize(result.size() + 1);  // the state
    return result;
  }
};

}  // namespace

Dropped OperatorPass::dropped(const at::Tensor& x, const kernels::DropoutSite& site) const {
  if (!site.on()) return {x, {}};
  if (step->options.dropout_bits == DropoutBits::device) {
    auto [value, mask] = at::native_dropout(x, site.rate(), true);
    return {value, mask};
  }
  std::vector<std::uint64_t> keys;
  for (const std::uint64_t token : step->rows.token_keys) keys.push_back(kernels::row_key(site, token));
  const at::Tensor mask = bert_mask(site, keys, x.size(1), step->options.type, x.device());
  return {(x * mask).to(x.scalar_type()), mask};
}

at::Tensor OperatorPass::dropped_backward(const at::Tensor& derivative, const at::Tensor& mask,
                                          const kernels::DropoutSite& site) const {
  if (!mask.defined()) return derivative;
  if (step->options.dropout_bits == DropoutBits::device) return at::native_dropout_backward(derivative, mask, site.kept);
  return (derivative * mask).to(derivative.scalar_type());
}

std::vector<LayerTensors> layer_copies(const BertStep& step) {
  const at::NoGradGuard no_grad;
  LayerTensors all;
  for (const BertLayerWeights& layer : step.weights->layers) {
    const LayerTensors parameters = parameters_of(layer);
    all.insert(all.end(), parameters.begin(), parameters.end());
  }
  LayerTensors& kept = *step.copies;
  if (!kept.empty() && kept.front().device() != all.front().device()) kept.clear();
  all = in_type(all, step.matrix_type(), kept);
  if (step.options.bf16) kept = all;
  std::vector<LayerTensors> by_layer;
  for (auto next = all.begin(); next != all.end(); next += kLayerTensors) by_layer.emplace_back(next, next + kLayerTensors);
  return by_layer;
}

at::Tensor operator_layer(const std::shared_ptr<const OperatorPass>& pass, std::int64_t number, LayerTensors copies,
                          const at::Tensor& x) {
  const BertLayerWeights& layer = pass->step->weights->layers[static_cast<std::size_t>(number)];
  std::vector<at::Tensor> parameters = {layer.query.weight, layer.key.weight, layer.value.weight,
                                        layer.query.bias,   layer.key.bias,   layer.value.bias};
  const at::Tensor others[] = {layer.attention_output.weight, layer.attention_output.bias, layer.attention_norm.weight,
                               layer.attention_norm.bias,     layer.intermediate.weight,   layer.intermediate.bias,
                               layer.output.weight,           layer.output.bias,           layer.output_norm.weight,
                               layer.output_norm.bias};
  parameters.insert(parameters.end(), std::begin(others), std::end(others));
  auto state = c10::make_intrusive<OperatorLayerState>();
  state->pass = pass;
  state->number = number;
  state->copies = std::move(copies);
  return OperatorLayerFunction::apply(x, at::TensorList(parameters), state);
}

}  // namespace hpcbench::train
