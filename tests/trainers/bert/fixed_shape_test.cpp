// Steps of one shape: the host decides the same for all of them, so that the device's work can be captured and replayed.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/record_function.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <memory>
#include <sstream>

#include "bert_testing.hpp"
#include "cpu_bert_program.hpp"
#include "devices/cpu_device.hpp"
#include "strategies/step_graph.hpp"
#include "tasks/bert_squad/bert_numbers.hpp"
#include "tasks/bert_squad/bert_varlen.hpp"

namespace hpcbench::train {

namespace {

constexpr std::int64_t kRowSize = 40;
constexpr std::int64_t kHidden = 72;  // of cpu_bert_program()

BertConfig config_for_kernels() {
  BertConfig config = tiny_bert_config();
  config.hidden_size = kHidden;
  config.num_attention_heads = 3;
  config.intermediate_size = 136;
  return config;
}

BertOptions fixed_options() {
  BertOptions options;
  options.attention = Attention::operators;
  options.dropout_bits = DropoutBits::device;
  options.fixed_shape = true;
  return options;
}

BertNumbersForm fixed_form(const DropoutKey* dropout = nullptr) {
  BertNumbersForm form;
  form.is_fixed = true;
  form.dropout = dropout;
  return form;
}

std::vector<std::int64_t> shape_of(const BertBatch& batch, const BertNumbersForm& form) {
  const BertConfig config = tiny_bert_config();
  return BertNumbers(batch, check_rows(batch, config), config, form).shape;
}

std::vector<std::string>* operator_log = nullptr;
thread_local int attentions = 0;  // of the current thread

void add_text(const c10::IValue& value, std::ostream& text) {
  if (value.isTensorList()) {
    for (const at::Tensor& each : value.toTensorVector()) add_text(each, text);
  } else if (!value.isTensor()) {
    text << ' ' << value;
  } else if (const at::Tensor& tensor = value.toTensor(); tensor.defined()) {
    text << ' ' << tensor.sizes() << tensor.strides() << tensor.scalar_type();
    // A number of the host in a tensor's place.
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) text << " of " << tensor.item<double>();
  }
}

/// Intercepts every operator that is called from outside.
void log_operator(const c10::OperatorHandle& called, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard not_inside(c10::DispatchKey::TESTING_ONLY_GenericMode);
  if (attentions == 0) {
    std::ostringstream text;
    text << called.operator_name();
    for (const c10::IValue& value : torch::jit::last(*stack, called.schema().arguments().size())) add_text(value, text);
    operator_log->push_back(text.str());
  }
  called.callBoxed(stack);
}

/// The calls of LibTorch's operators: names, sizes of tensors, numbers, in their order. Attention's plain form reads rows from
/// the host; on a GPU it is one operator that does not, and so it is one line.
class OperatorLog {
 public:
  OperatorLog() {
    operator_log = &lines_;
    const auto begin = [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
      const std::string name = function.name();
      if (name != kVarlenForward && name != kVarlenBackward) return nullptr;
      ++attentions;
      operator_log->push_back(name);
      return std::make_unique<Inside>();
    };
    const auto end = [](const at::RecordFunction&, at::ObserverContext* context) {
      if (context != nullptr) --attentions;
    };
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(begin, end).scopes({at::RecordScope::FUNCTION}));
    library_.fallback(torch::CppFunction::makeFromBoxedFunction<&log_operator>());
  }
  ~OperatorLog() {
    at::removeCallback(handle_);
    operator_log = nullptr;
  }
  OperatorLog(const OperatorLog&) = delete;
  OperatorLog& operator=(const OperatorLog&) = delete;

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  struct Inside final : at::ObserverContext {};

  std::vector<std::string> lines_;
  at::CallbackHandle handle_ = 0;
  torch::Library library_ = MAKE_TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode);
  c10::impl::IncludeDispatchKeyGuard included_{c10::DispatchKey::TESTING_ONLY_GenericMode};
};

/// Trains on batches, whose numbers are the samples.
class BatchTrainee final : public Trainee {
 public:
  BatchTrainee(Bert& bert, std::vector<BertBatch> batches) : bert_(bert), batches_(std::move(batches)) {}
  Model& model() override { return bert_.model(); }
  at::Tensor loss(const at::Tensor& samples, const StepPlace& place) override {
    const BertBatch& batch = batch_of(samples);
    const DropoutKey key{3, place.step};
    return bert_.loss(batch, bert_.logits(batch, &key)).mean;
  }
  std::optional<LossInputs> loss_inputs(const at::Tensor& samples, const StepPlace& place) override {
    const DropoutKey key{3, place.step};
    auto batch = std::make_shared<BertBatch>(batch_of(samples));
    const auto numbers = bert_.prepare(*batch, &key);
    batch->there = numbers;
    return LossInputs{numbers->packed, numbers->shape, [this, batch, numbers, key](const at::Tensor& there) {
                        numbers->lie_in(there);
                        return bert_.loss(*batch, bert_.logits(*batch, &key)).mean;
                      }};
  }
  std::unique_ptr<Trainee> another(at::Device) const override { return nullptr; }

 private:
  const BertBatch& batch_of(const at::Tensor& samples) const {
    return batches_[static_cast<std::size_t>(samples.item<std::int64_t>())];
  }

  Bert& bert_;
  std::vector<BertBatch> batches_;
};

/// Returns the gradients, which are dropped.
std::vector<at::Tensor> taken_gradients(Bert& bert) {
  std::vector<at::Tensor> gradients;
  for (const NamedTensor& parameter : bert.model().parameters) {
    gradients.push_back(parameter.tensor.grad().clone());
    parameter.tensor.mutable_grad().reset();
  }
  return gradients;
}

}  // namespace

TEST_CASE("a fixed shape: rows of the same sizes have it, whatever their words and lengths") {
  const BertConfig config = tiny_bert_config();
  const DropoutKey key{3, 1};
  const BertNumbersForm fixed = fixed_form(&key);
  const BertBatch batch = random_batch(config, {17, 1, 33}, kRowSize);
  const std::vector<std::int64_t> shape = shape_of(batch, fixed);
  for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{40, 40, 40}, {1, 1, 1}, {40, 2, 39}})
    CHECK(shape_of(random_batch(config, lengths, kRowSize, {7, 9, 30}), fixed) == shape);
  BertBatch of_one_word = random_batch(config, {40, 40, 40}, kRowSize);
  of_one_word.tokens.fill_(5);
  CHECK(shape_of(of_one_word, fixed) == shape);
  // Other rows, positions that do not count and no dropout are another shape; and, unless shapes are fixed, lengths are.
  CHECK(shape_of(random_batch(config, {17, 1}, kRowSize), fixed) != shape);
  CHECK(shape_of(random_batch(config, {17, 1, 33}, kRowSize - 1), fixed) != shape);
  CHECK(shape_of(batch, fixed_form()) != shape);
  BertBatch ignored = batch;
  ignored.starts[1] = 1000;
  CHECK(shape_of(ignored, fixed) != shape);
  BertNumbersForm free = fixed;
  free.is_fixed = false;
  CHECK(shape_of(batch, free) != shape_of(random_batch(config, {40, 2, 39}, kRowSize), free));
}

TEST_CASE("a fixed shape: the same losses and gradients as without it") {
  const BertConfig config = tiny_bert_config();
  for (const std::vector<std::int64_t>& lengths : {std::vector<std::int64_t>{17, 1, 33, 40}, {1}, {40, 40}}) {
    BertOptions options = fixed_options();
    options.type = at::kDouble;
    Bert fixed(config, options, 7);
    options.fixed_shape = false;
    Bert free(config, options, 7);
    for (Bert* bert : {&fixed, &free}) perturb(*bert, 0.2, 3);
    const BertBatch batch = random_batch(config, lengths, kRowSize);
    check_same_outcome(run_step(fixed, batch, nullptr), run_step(free, batch, nullptr), 1e-12, 1e-13);
  }
}

TEST_CASE("a fixed shape: all operators and kernels get the same requests") {
  const BertConfig config = config_for_kernels();
  for (const bool bf16 : {false, true}) {
    BertOptions options = fixed_options();
    options.bf16 = bf16;
    const auto program = cpu_bert_program(kHidden, bf16);
    options.gpu_program = program;
    Bert bert(config, options, 7);
    // The first pass makes the bf16 copies, which later ones write again.
    const std::vector<BertBatch> batches = {
        random_batch(config, {5, 5, 5}, kRowSize), random_batch(config, {17, 1, 33}, kRowSize, {1, 2, 3}),
        random_batch(config, {40, 40, 2}, kRowSize, {4, 5, 6}), random_batch(config, {40, 40, 40}, kRowSize, {7, 8, 9})};
    BatchTrainee trainee(bert, batches);
    std::vector<std::vector<std::string>> asked;
    std::vector<std::vector<std::string>> launched;
    for (std::int64_t number = 0; number < std::ssize(batches); ++number) {
      const LossInputs inputs = *trainee.loss_inputs(at::tensor({number}), {number + 1, 0, 1});
      const auto before = std::ssize(program->launched());
      {
        const OperatorLog log;
        inputs.loss(inputs.numbers).backward();
        asked.push_back(log.lines());
      }
      launched.emplace_back(program->launched().begin() + before, program->launched().end());
      taken_gradients(bert);
    }
    CHECK(asked[1].size() > 100);
    for (std::size_t number = 2; number < asked.size(); ++number) {
      REQUIRE(asked[number].size() == asked[1].size());
      for (std::size_t line = 0; line < asked[1].size(); ++line) CHECK(asked[number][line] == asked[1][line]);
      CHECK(launched[number] == launched[1]);
    }
  }
}

TEST_CASE("a captured step: replays compute what steps compute that are not captured, bit for bit, dropout too") {
  const BertConfig config = config_for_kernels();
  // Of one shape, if attention's plain form has it too, except the third.
  std::vector<BertBatch> batches = {random_batch(config, {17, 1, 33}, kRowSize),
                                    random_batch(config, {17, 1, 33}, kRowSize, {4, 5, 6}), random_batch(config, {9}, kRowSize),
                                    random_batch(config, {17, 1, 33}, kRowSize, {7, 8, 9})};
  for (const bool bf16 : {false, true}) {
    BertOptions options = fixed_options();
    options.bf16 = bf16;
    options.gpu_program = cpu_bert_program(kHidden, bf16);
    Bert bert(config, options, 7);
    perturb(bert, 0.2, 3);
    BatchTrainee trainee(bert, batches);
    StepGraph graph(trainee, cpu_device());
    std::int64_t step = 0, replays = 0;
    std::vector<at::Tensor> losses, expected_losses;  // read later, when others have been computed
    // Captured after two consecutive steps of one shape; the earlier one of another shape restarts the count.
    for (const std::int64_t number : {0, 1, 2, 1, 0, 3, 1, 2, 0, 1}) {
      const StepPlace place{++step, 0, 1};
      const at::Tensor sample = at::tensor({number});
      const at::Tensor expected = trainee.loss(sample, place);
      expected.backward();
      const std::vector<at::Tensor> gradients = taken_gradients(bert);
      const at::Tensor loss = graph.forward_backward(sample, place);
      losses.push_back(loss);
      expected_losses.push_back(expected.detach());
      const std::vector<at::Tensor> found = taken_gradients(bert);
      for (std::size_t index = 0; index < found.size(); ++index) CHECK(found[index].equal(gradients[index]));
      replays += step >= 6 && number != 2 ? 1 : 0;
      CHECK(graph.replays() == replays);
      // A step: the same for both, as an optimiser changes parameters where they are.
      const at::NoGradGuard no_grad;
      for (std::size_t index = 0; index < found.size(); ++index) bert.model().parameters[index].tensor.sub_(found[index], 0.1);
    }
    CHECK(replays == 4);
    for (std::size_t index = 0; index < losses.size(); ++index) CHECK(losses[index].equal(expected_losses[index]));
  }
}

}  // namespace hpcbench::train
