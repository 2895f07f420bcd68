// The model in few operators of LibTorch against the eager one.

#include <limits>

#include "bert_testing.hpp"
#include "tasks/bert_squad/bert_numbers.hpp"

namespace hpcbench::train {

namespace {

BertOptions operator_options(Attention attention, at::ScalarType type = at::kDouble, bool pad_in_softmax = true) {
  BertOptions options;
  options.type = type;
  options.attention = attention;
  options.pad_in_softmax = pad_in_softmax;
  return options;
}

Bert perturbed_bert(const BertConfig& config, const BertOptions& options) {
  Bert bert(config, options, 7);
  perturb(bert, 0.2, 3);
  return bert;
}

const std::vector<std::int64_t> kOperatorLengths = {17, 1, 33, 40, 5};

}  // namespace

TEST_CASE("few operators equal the plain ones, dropout on and off, padded and packed, whatever competes") {
  const BertConfig config = tiny_bert_config();
  const DropoutKey key{123, 4};
  for (const DropoutKey* dropout : {static_cast<const DropoutKey*>(nullptr), &key}) {
    for (const std::int64_t padded_to : {0, 40}) {
      for (const bool pad_in_softmax : {true, false}) {
        const BertBatch batch = random_batch(config, kOperatorLengths, padded_to);
        Bert reference = perturbed_bert(config, operator_options(Attention::eager, at::kDouble, pad_in_softmax));
        const BertOutcome expected = run_step(reference, batch, dropout);
        Bert bert = perturbed_bert(config, operator_options(Attention::operators, at::kDouble, pad_in_softmax));
        const BertOutcome outcome = run_step(bert, batch, dropout);
        check_same_outcome(outcome, expected, 1e-12, 1e-13);
        CHECK(relative_difference(outcome.logits, expected.logits) <= 1e-12);
      }
    }
  }
}

TEST_CASE("few operators: packed rows that are filled up compute the same") {
  const BertConfig config = tiny_bert_config();
  for (const std::vector<std::int64_t>& lengths : {kOperatorLengths, {17, 1, 30}, {9, 9, 9}}) {
    const BertBatch batch = random_batch(config, lengths, 0);
    Bert reference = perturbed_bert(config, operator_options(Attention::eager));
    const BertOutcome expected = run_step(reference, batch, nullptr);
    BertOptions options = operator_options(Attention::operators);
    options.dropout_bits = DropoutBits::device;
    options.tokens_multiple = 64;
    Bert bert = perturbed_bert(config, options);
    const BertOutcome outcome = run_step(bert, batch, nullptr);
    check_same_outcome(outcome, expected, 1e-12, 1e-13);
    const std::int64_t tokens = batch.row_begin.back();
    const bool alike = lengths.front() == lengths.back();
    CHECK(outcome.logits.size(0) == (alike ? tokens : (tokens + 63) / 64 * 64));
    CHECK(relative_difference(outcome.logits.narrow(0, 0, tokens), expected.logits) <= 1e-12);
    // With dropout it draws for more tokens; filling tokens still enter no gradient.
    const DropoutKey key{5, 1};
    CHECK(std::isfinite(run_step(bert, batch, &key).loss));
  }
}

TEST_CASE("what fills up is a stretch of its own, of positions, words and types that there are") {
  const BertConfig config = tiny_bert_config();
  const BertBatch batch = random_batch(config, {17, 1, 20}, 0);
  BertNumbersForm form;
  form.pad_in_softmax = false;
  form.tokens_multiple = 32;
  BertNumbers numbers(batch, check_rows(batch, config), config, form);
  numbers.lie_in(numbers.packed);
  const std::vector<std::int64_t> stretches = {0, 17, 18, 38, 64};
  CHECK(numbers.rows.queries == stretches);
  CHECK(numbers.rows.keys == stretches);
  CHECK(numbers.rows.most_keys == 26);
  for (const at::Tensor& each : {numbers.ids, numbers.positions, numbers.types}) {
    CHECK(each.size(0) == 64);
    CHECK(each.narrow(0, 38, 26).eq(0).all().item<bool>());
  }
  CHECK(numbers.slot_begins.size(0) == 2 * 64);
  CHECK(numbers.slot_begins.narrow(0, 76, 52).eq(numbers.slots.size(0)).all().item<bool>());
}

TEST_CASE("few operators: positions that are ignored, and rows of one size without padding") {
  const BertConfig config = tiny_bert_config();
  for (const std::vector<std::int64_t>& lengths : {kOperatorLengths, std::vector<std::int64_t>{9, 9, 9}}) {
    BertBatch batch = random_batch(config, lengths, 0);
    batch.starts[0] = 1000;
    Bert reference = perturbed_bert(config, operator_options(Attention::eager));
    Bert bert = perturbed_bert(config, operator_options(Attention::operators));
    check_same_outcome(run_step(bert, batch, nullptr), run_step(reference, batch, nullptr), 1e-12, 1e-13);
    for (std::vector<std::int64_t>* gold : {&batch.starts, &batch.ends}) gold->assign(lengths.size(), 1000);
    CHECK(run_step(bert, batch, nullptr).loss == 0);
  }
}

TEST_CASE("few operators in fp32 to 1e-5, and in bf16 to what bf16 resolves") {
  const BertConfig config = tiny_bert_config();
  const DropoutKey key{5, 1};
  const BertBatch batch = random_batch(config, kOperatorLengths, 0);
  Bert reference = perturbed_bert(config, operator_options(Attention::eager));
  const BertOutcome expected = run_step(reference, batch, &key);
  Bert single = perturbed_bert(config, operator_options(Attention::operators, at::kFloat));
  check_same_outcome(run_step(single, batch, &key), expected, 1e-5, 1e-5);
  BertOptions half = operator_options(Attention::operators, at::kFloat);
  half.bf16 = true;
  Bert bert = perturbed_bert(config, half);
  const BertOutcome outcome = run_step(bert, batch, &key);
  check_same_outcome(outcome, expected, 0.1, 0.02);
  for (const NamedTensor& gradient : outcome.gradients) CHECK((gradient.tensor.scalar_type() == at::kFloat));
}

TEST_CASE("few operators: parameters that are away between a unit's passes, as a sharded strategy has it") {
  const BertConfig config = tiny_bert_config();
  const BertBatch batch = random_batch(config, kOperatorLengths, 0);
  for (const bool bf16 : {false, true}) {
    BertOptions options = operator_options(Attention::operators, at::kFloat);
    options.bf16 = bf16;
    Bert whole = perturbed_bert(config, options);
    const BertOutcome expected = run_step(whole, batch, nullptr);
    Bert bert = perturbed_bert(config, options);
    std::vector<at::Tensor> kept;
    for (const NamedTensor& each : bert.model().parameters) kept.push_back(each.tensor.detach().clone());
    // Freed after the forward pass of their layer, restored before backward.
    const auto each_of = [&](int unit, const std::function<void(at::Tensor&, const at::Tensor&)>& change) {
      const at::NoGradGuard no_grad;
      for (std::size_t index = 0; index < kept.size(); ++index) {
        NamedTensor& parameter = bert.model().parameters[index];
        at::Tensor data = parameter.tensor.variable_data();
        if (parameter.unit == unit) change(data, kept[index]);
      }
    };
    bert.model().before_unit = [](int) {};
    bert.model().after_unit = [&](int unit, const at::Tensor& result) {
      if (unit < 1 || unit > config.num_hidden_layers) return;
      each_of(unit, [](at::Tensor& data, const at::Tensor&) { data.fill_(std::numeric_limits<double>::quiet_NaN()); });
      result.register_hook([&, unit](const at::Tensor&) {
        each_of(unit, [](at::Tensor& data, const at::Tensor& value) { data.copy_(value); });
      });
    };
    const BertOutcome outcome = run_step(bert, batch, nullptr);
    check_same_outcome(outcome, expected, 1e-12, bf16 ? 0.02 : 1e-5);
  }
}

TEST_CASE("padding is a stretch of keys without queries, and no stretch is longer than the kernels are told") {
  const BertConfig config = tiny_bert_config();
  const BertBatch batch = random_batch(config, {17, 1, 20}, 20);
  BertNumbers numbers(batch, check_rows(batch, config), config, {});
  numbers.lie_in(numbers.packed);
  const VarlenRows& rows = numbers.rows;
  const std::vector<std::int64_t> queries = {0, 20, 20, 40, 40, 60}, keys = {0, 17, 20, 21, 40, 60};
  CHECK(rows.queries == queries);
  CHECK(rows.keys == keys);
  CHECK(rows.most_queries == 20);
  CHECK(rows.most_keys == 20);
  CHECK(rows.queries_there.equal(at::tensor(queries, at::kInt)));
  CHECK(rows.keys_there.equal(at::tensor(keys, at::kInt)));
  const BertBatch short_rows = random_batch(config, {3, 1}, 30);
  CHECK(BertNumbers(short_rows, check_rows(short_rows, config), config, {}).rows.most_keys == 29);  // padding
}

TEST_CASE("what is brought to the device together is what a pass and its loss bring by themselves") {
  const BertConfig config = tiny_bert_config();
  for (const std::int64_t padded_to : {0, 40}) {
    for (const bool pad_in_softmax : {true, false}) {
      BertOptions options = operator_options(Attention::operators);
      options.pad_in_softmax = pad_in_softmax;
      Bert bert = perturbed_bert(config, options);
      BertBatch batch = random_batch(config, kOperatorLengths, padded_to);
      const BertOutcome alone = run_step(bert, batch, nullptr);
      bert.bring(batch, nullptr);
      REQUIRE(batch.there != nullptr);
      const BertOutcome together = run_step(bert, batch, nullptr);
      CHECK(together.loss == alone.loss);
      CHECK(together.logits.equal(alone.logits));
      for (std::size_t index = 0; index < alone.gradients.size(); ++index)
        CHECK(together.gradients[index].tensor.equal(alone.gradients[index].tensor));
    }
  }
}

TEST_CASE("dropout by the device's generator: the same for a step, another for the next, at its rate") {
  BertConfig config = tiny_bert_config();
  BertOptions options = operator_options(Attention::operators);
  options.dropout_bits = DropoutBits::device;
  Bert bert = perturbed_bert(config, options);
  const BertBatch batch = random_batch(config, kOperatorLengths, 0);
  const DropoutKey first{1, 1}, second{1, 2};
  const BertOutcome once = run_step(bert, batch, &first);
  const BertOutcome other = run_step(bert, batch, &second);
  const BertOutcome again = run_step(bert, batch, &first);
  CHECK(once.loss == again.loss);
  CHECK(once.loss != other.loss);
  for (std::size_t index = 0; index < once.gradients.size(); ++index)
    CHECK(once.gradients[index].tensor.equal(again.gradients[index].tensor));
  // The derivative is that of the computed function: along the gradient of one parameter.
  at::Tensor& weight = bert.model().parameters[5].tensor;
  const at::Tensor gradient = once.gradients[5].tensor;
  const double step = 1e-5 / gradient.norm().item<double>();
  const auto loss_at = [&](double shift) {
    const at::NoGradGuard no_grad;
    weight.variable_data().add_(gradient, shift);
    const double loss = bert.loss(batch, bert.logits(batch, &first)).mean.item<double>();
    weight.variable_data().add_(gradient, -shift);
    return loss;
  };
  const double slope = (loss_at(step) - loss_at(-step)) / (2 * step);
  CHECK(slope == doctest::Approx(gradient.square().sum().item<double>()).epsilon(1e-6));
  BertOptions fused = operator_options(Attention::fused);
  fused.dropout_bits = DropoutBits::device;
  CHECK_THROWS_AS(Bert(config, fused, 1), std::runtime_error);
}

}  // namespace hpcbench::train
