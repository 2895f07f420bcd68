#include "tasks/mnist_rnn/mnist_rnn.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Dispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/native_dropout.h>
#include <ATen/ops/nll_loss.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <tuple>

#include "devices/bring.hpp"
#include "kernels/bert_hash.hpp"
#include "kernels/kernels.hpp"
#include "tasks/mnist_rnn/digits.hpp"
#include "tasks/mnist_rnn/lstm.hpp"
#include "tasks/mnist_rnn/mnist_settings.hpp"

namespace hpcbench::train {

namespace {

// The model's units: LSTM with batch normalisation, middle, last layer.
constexpr int kLstmUnit = 0;
constexpr int kMiddleUnit = 1;
constexpr int kLastUnit = 2;

constexpr double kPixelMean = 0.1307;
constexpr double kPixelDeviation = 0.3081;
constexpr std::int64_t kMiddle = 32;
constexpr double kRateAfterLstm = 0.25;
constexpr double kRateAfterMiddle = 0.5;
constexpr double kBatchNormMomentum = 0.1;
constexpr double kBatchNormEps = 1e-5;

at::ScalarType scalar_type(Precision precision) { return precision == Precision::fp64 ? at::kDouble : at::kFloat; }

/// The samples of one split, normalised once.
struct TensorDigits {
  at::Tensor images;  // [N, 28, 28]; on a GPU [28, N, 28], time first
  at::Tensor labels;  // [N], int64
};

TensorDigits to_tensors(const LabelledDigits& digits, at::ScalarType type) {
  // from_blob does not own the bytes; to() copies them.
  auto* pixels = const_cast<std::uint8_t*>(digits.pixels.data());
  auto* labels = const_cast<std::uint8_t*>(digits.labels.data());
  at::Tensor images = at::from_blob(pixels, {digits.size(), kDigitSide, kDigitSide}, at::kByte).to(type);
  images.div_(255.0).sub_(kPixelMean).div_(kPixelDeviation);
  return {images, at::from_blob(labels, {digits.size()}, at::kByte).to(at::kLong)};
}

/// Returns [28, B, 28], time first: the sequences of some samples (on the images' device).
at::Tensor gather(const at::Tensor& images, const at::Tensor& samples, KernelChoice kernels) {
  if (!images.is_cpu()) return images.index_select(1, samples);
  if (kernels == KernelChoice::torch) return images.index_select(0, samples).transpose(0, 1).contiguous();
  at::Tensor sequences = at::empty({kDigitSide, samples.size(0), kDigitSide}, images.options());
  AT_DISPATCH_FLOATING_TYPES(images.scalar_type(), "gather", [&] {
    kernels::gather_time_major(images.data_ptr<scalar_t>(), samples.data_ptr<std::int64_t>(), samples.size(0), kDigitSide,
                               kDigitSide, sequences.data_ptr<scalar_t>());
  });
  return sequences;
}

class MnistRnn final : public Task {
 public:
  explicit MnistRnn(const Settings& settings) : settings_(settings), type_(scalar_type(settings.precision)) { make_model(); }

  void load() override {
    const Digits digits = load_digits(settings_.data, settings_.train_share);
    note_ = digits.note;
    train_ = to_tensors(digits.train, type_);
    validation_ = to_tensors(digits.validation, type_);
  }

  void place(at::Device place) override {
    place_ = place;
    move_model(model_, place_);
    if (place_.is_cpu()) return;
    lay_out_for_cudnn(lstm_);
    for (TensorDigits* digits : {&train_, &validation_})
      *digits = {digits->images.to(place_).transpose(0, 1).contiguous(), digits->labels.to(place_)};
  }

  std::vector<Note> notes() const override {
    std::vector<Note> notes;
    if (note_) notes.push_back({"train_share", *note_});
    if (settings_.eval && validation_samples() == 0) notes.push_back({"no_validation", "nothing validates: train_share is 1"});
    return notes;
  }

  std::int64_t train_samples() const override { return train_.labels.size(0); }
  std::int64_t validation_samples() const override { return validation_.labels.size(0); }
  // A single sample has no variance.
  std::int64_t least_batch() const override { return settings_.own<MnistSettings>().batch_norm ? 2 : 1; }
  Model& model() override { return model_; }

  std::unique_ptr<Trainee> another(at::Device place) const override {
    auto task = std::make_unique<MnistRnn>(settings_);
    task->load();
    task->place(place);
    return task;
  }

  at::Tensor loss(const at::Tensor& samples, const StepPlace& place) override {
    const LossInputs inputs = *loss_inputs(samples, place);
    return inputs.loss(inputs.numbers);
  }

  std::optional<LossInputs> loss_inputs(const at::Tensor& samples, const StepPlace& place) override {
    if (draws_on_device()) seed_draws(place);
    return LossInputs{numbers_there(samples), {samples.size(0)}, [this, place](const at::Tensor& numbers) {
                        const at::Tensor scores = log_probabilities(gather(train_.images, numbers, settings_.kernels), &place);
                        return at::nll_loss(scores, train_.labels.index_select(0, numbers));
                      }};
  }

  std::vector<Measure> evaluate(std::int64_t first, std::int64_t stride) override {
    constexpr std::int64_t kChunk = 500;
    const at::NoGradGuard no_grad;
    Measure loss{"val_loss"};
    Measure accuracy{"accuracy"};
    std::vector<std::int64_t> numbers;
    for (std::int64_t next = first; next < validation_samples();) {
      numbers.clear();
      for (; next < validation_samples() && std::ssize(numbers) < kChunk; next += stride) numbers.push_back(next);
      const at::Tensor samples = bring(at::from_blob(numbers.data(), {std::ssize(numbers)}, at::kLong), place_);
      const at::Tensor labels = validation_.labels.index_select(0, samples);
      const at::Tensor scores = log_probabilities(gather(validation_.images, samples, settings_.kernels), nullptr);
      loss.sum += at::nll_loss(scores, labels, {}, at::Reduction::Sum).item<double>();
      accuracy.sum += static_cast<double>(at::eq(at::argmax(scores, 1), labels).sum().item<std::int64_t>());
      loss.weight = accuracy.weight += static_cast<double>(numbers.size());
    }
    return {loss, accuracy};
  }

 private:
  /// Samples are part of their epoch's order, which is copied to a GPU as a whole.
  at::Tensor numbers_there(const at::Tensor& samples) {
    if (place_.is_cpu()) return samples;
    if (!order_.defined() || !samples.is_alias_of(order_)) {
      order_ = samples.as_strided({static_cast<std::int64_t>(samples.storage().nbytes() / samples.element_size())}, {1}, 0);
      order_there_ = bring(order_, place_);
    }
    return order_there_.as_strided(samples.sizes(), samples.strides(), samples.storage_offset());
  }

  bool draws_on_device() const { return settings_.dropout_bits == DropoutDraw::device; }

  /// So that a pass draws the same bits whatever was drawn before it, also in a resumed run.
  void seed_draws(const StepPlace& place) const {
    at::Generator generator = at::globalContext().defaultGenerator(place_);
    const std::lock_guard lock(generator.mutex());
    generator.set_current_seed(
        kernels::dropout_site(settings_.seed, place.step, static_cast<std::uint64_t>(place.first_position), 0).key);
  }

  /// `place` is given for training; without it the model is in evaluation mode.
  at::Tensor log_probabilities(const at::Tensor& sequences, const StepPlace* place) {
    begin_unit(kLstmUnit);
    at::Tensor x =
        settings_.kernels == KernelChoice::torch ? torch_lstm_last_state(sequences, lstm_) : lstm_last_state(sequences, lstm_);
    if (settings_.own<MnistSettings>().batch_norm) {
      x = at::batch_norm(x, norm_weight_, norm_bias_, running_mean_, running_var_, place != nullptr, kBatchNormMomentum,
                         kBatchNormEps, false);
    }
    x = end_unit(kLstmUnit, dropped(x, kRateAfterLstm, 0, place));
    begin_unit(kMiddleUnit);
    x = at::relu(at::linear(x, middle_weight_, middle_bias_));
    x = end_unit(kMiddleUnit, dropped(x, kRateAfterMiddle, 1, place));
    begin_unit(kLastUnit);
    return end_unit(kLastUnit, at::log_softmax(at::linear(x, last_weight_, last_bias_), 1));
  }

  void begin_unit(int unit) const {
    if (model_.before_unit) model_.before_unit(unit);
  }

  at::Tensor end_unit(int unit, const at::Tensor& result) const {
    if (model_.after_unit) model_.after_unit(unit, result);
    return result;
  }

  at::Tensor dropped(const at::Tensor& x, double rate, std::uint64_t site, const StepPlace* place) const {
    rate *= settings_.dropout.value_or(1);
    if (!place || rate == 0) return x;
    if (draws_on_device()) return std::get<0>(at::native_dropout(x, rate, true));
    const kernels::DropoutKey key{settings_.seed, static_cast<std::uint64_t>(place->step), site, place->first_position,
                                  place->stride};
    const at::Tensor mask = at::empty(x.sizes(), x.scalar_type());
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "dropout",
                               [&] { kernels::dropout_mask(key, rate, x.size(0), x.size(1), mask.data_ptr<scalar_t>()); });
    return x * bring(mask, place_);
  }

  void make_model() {
    at::Generator generator = at::detail::createCPUGenerator(settings_.seed);
    const std::int64_t hidden = settings_.own<MnistSettings>().hidden;
    const auto uniform = [&](const char* name, at::IntArrayRef sizes, std::int64_t fan) {
      const double bound = 1.0 / std::sqrt(static_cast<double>(fan));
      return add_parameter(name, at::empty(sizes, type_).uniform_(-bound, bound, generator));
    };
    lstm_.input = uniform("lstm.weight_ih", {4 * hidden, kDigitSide}, hidden);
    lstm_.recurrent = uniform("lstm.weight_hh", {4 * hidden, hidden}, hidden);
    lstm_.input_bias = uniform("lstm.bias_ih", {4 * hidden}, hidden);
    lstm_.recurrent_bias = uniform("lstm.bias_hh", {4 * hidden}, hidden);
    if (settings_.own<MnistSettings>().batch_norm) {
      norm_weight_ = add_parameter("norm.weight", at::ones({hidden}, type_));
      norm_bias_ = add_parameter("norm.bias", at::zeros({hidden}, type_));
      running_mean_ = at::zeros({hidden}, type_);
      running_var_ = at::ones({hidden}, type_);
      model_.buffers = {{"norm.running_mean", running_mean_}, {"norm.running_var", running_var_}};
    }
    middle_weight_ = uniform("middle.weight", {kMiddle, hidden}, hidden);
    middle_bias_ = uniform("middle.bias", {kMiddle}, hidden);
    last_weight_ = uniform("last.weight", {kDigitClasses, kMiddle}, kMiddle);
    last_bias_ = uniform("last.bias", {kDigitClasses}, kMiddle);
  }

  at::Tensor add_parameter(const char* name, at::Tensor tensor) {
    tensor.requires_grad_();
    const std::string text = name;
    const int unit = text.rfind("last.", 0) == 0 ? kLastUnit : text.rfind("middle.", 0) == 0 ? kMiddleUnit : kLstmUnit;
    model_.parameters.push_back({name, tensor, unit});
    return tensor;
  }

  Settings settings_;
  at::ScalarType type_;
  at::Device place_ = at::kCPU;
  std::optional<std::string> note_;
  TensorDigits train_, validation_;
  at::Tensor order_, order_there_;  // of the epoch, on a GPU
  Model model_;
  LstmWeights lstm_;
  at::Tensor norm_weight_, norm_bias_, running_mean_, running_var_;
  at::Tensor middle_weight_, middle_bias_, last_weight_, last_bias_;
};

}  // namespace

std::unique_ptr<Task> make_mnist_rnn(const Settings& settings) { return std::make_unique<MnistRnn>(settings); }

}  // namespace hpcbench::train
