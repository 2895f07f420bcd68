// The fused model against the eager one, and changes that must not affect its numbers.

#include "bert_testing.hpp"

namespace hpcbench::train {

namespace {

BertOptions options_with(Attention attention, at::ScalarType type = at::kDouble) {
  BertOptions options;
  options.type = type;
  options.attention = attention;
  return options;
}

Bert make_bert(const BertConfig& config, const BertOptions& options) {
  Bert bert(config, options, 7);
  perturb(bert, 0.2, 3);
  return bert;
}

const std::vector<std::int64_t> kLengths = {17, 1, 33, 40, 5};

}  // namespace

TEST_CASE("fused equals eager, dropout on and off, padded and packed, with checkpointing and without") {
  const BertConfig config = tiny_bert_config();
  const DropoutKey key{123, 4};
  for (const DropoutKey* dropout : {static_cast<const DropoutKey*>(nullptr), &key}) {
    for (const std::int64_t padded_to : {0, 40}) {
      for (const bool pad_in_softmax : {true, false}) {
        const BertBatch batch = random_batch(config, kLengths, padded_to);
        BertOptions eager = options_with(Attention::eager);
        BertOptions fused = options_with(Attention::fused);
        eager.pad_in_softmax = fused.pad_in_softmax = pad_in_softmax;
        Bert reference = make_bert(config, eager);
        const BertOutcome expected = run_step(reference, batch, dropout);
        for (const bool checkpoint : {false, true}) {
          fused.checkpoint_activations = checkpoint;
          Bert bert = make_bert(config, fused);
          const BertOutcome outcome = run_step(bert, batch, dropout);
          check_same_outcome(outcome, expected, 1e-12, 1e-13);
          CHECK(relative_difference(outcome.logits, expected.logits) <= 1e-12);
        }
      }
    }
  }
}

TEST_CASE("fused equals eager in fp32 to 1e-5, and in bf16 to what bf16 resolves") {
  const BertConfig config = tiny_bert_config();
  const DropoutKey key{5, 1};
  const BertBatch batch = random_batch(config, kLengths, 0);
  Bert reference = make_bert(config, options_with(Attention::eager));
  const BertOutcome expected = run_step(reference, batch, &key);
  Bert single = make_bert(config, options_with(Attention::fused, at::kFloat));
  check_same_outcome(run_step(single, batch, &key), expected, 1e-5, 1e-5);
  for (const bool checkpoint : {false, true}) {
    BertOptions half = options_with(Attention::fused, at::kFloat);
    half.bf16 = true;
    half.checkpoint_activations = checkpoint;
    Bert bert = make_bert(config, half);
    const BertOutcome outcome = run_step(bert, batch, &key);
    check_same_outcome(outcome, expected, 0.1, 0.02);
    CHECK((outcome.gradients.front().tensor.scalar_type() == at::kFloat));
  }
}

TEST_CASE("without padding in the softmax, padded, longer padded and packed agree, dropout on") {
  const BertConfig config = tiny_bert_config();
  BertOptions options = options_with(Attention::fused);
  options.pad_in_softmax = false;
  const DropoutKey key{9, 2};
  Bert bert = make_bert(config, options);
  const BertOutcome packed = run_step(bert, random_batch(config, {17, 1, 33, 5}, 0), &key);
  for (const std::int64_t padded_to : {33, 36, 40}) {
    check_same_outcome(run_step(bert, random_batch(config, {17, 1, 33, 5}, padded_to), &key), packed, 1e-10, 1e-12);
  }
}

TEST_CASE("rows one by one give the sums of the batch: places, not rows, decide what is dropped") {
  const BertConfig config = tiny_bert_config();
  BertOptions options = options_with(Attention::fused);
  options.pad_in_softmax = false;
  const DropoutKey key{9, 2};
  Bert bert = make_bert(config, options);
  const BertBatch whole = random_batch(config, {17, 8, 33}, 0, {4, 2, 11});
  const at::Tensor all = bert.logits(whole, &key).detach();
  const std::int64_t lengths[] = {17, 8, 33}, places[] = {4, 2, 11};
  for (std::size_t row = 0; row < 3; ++row) {
    const at::Tensor alone = bert.logits(random_batch(config, {lengths[row]}, 0, {places[row]}), &key).detach();
    CHECK(relative_difference(alone, all.narrow(0, whole.row_begin[row], lengths[row])) <= 1e-12);
  }
}

TEST_CASE("gradients equal numerical differences of the loss, dropout on") {
  BertConfig config = tiny_bert_config();
  config.hidden_size = 18;
  config.intermediate_size = 21;
  const DropoutKey key{31, 7};
  const BertBatch batch = random_batch(config, {7, 12, 1}, 0);
  Bert bert = make_bert(config, options_with(Attention::fused));
  const BertOutcome outcome = run_step(bert, batch, &key);
  const auto loss_now = [&] { return bert.loss(batch, bert.logits(batch, &key)).mean.item<double>(); };
  const at::NoGradGuard no_grad;
  constexpr double kStep = 1e-6;
  for (std::size_t index = 0; index < outcome.gradients.size(); ++index) {
    INFO(outcome.gradients[index].name);
    at::Tensor parameter = bert.model().parameters[index].tensor;
    // Along a random direction, so that every element of the gradient takes part.
    at::Generator generator = at::detail::createCPUGenerator(index + 1);
    const at::Tensor direction = at::empty(parameter.sizes(), at::kDouble).normal_(0.0, 1.0, generator);
    if (index == 0) direction.select(0, kPaddingToken).zero_();
    const double slope = (outcome.gradients[index].tensor * direction).sum().item<double>();
    parameter.add_(direction, kStep);
    const double above = loss_now();
    parameter.add_(direction, -2 * kStep);
    const double below = loss_now();
    parameter.add_(direction, kStep);
    CHECK((above - below) / (2 * kStep) == doctest::Approx(slope).epsilon(1e-5).scale(0.1));
  }
}

TEST_CASE("a run gives the same bits again, and one thread those of two in everything but products") {
  const BertConfig config = tiny_bert_config();
  const DropoutKey key{1, 1};
  const BertBatch batch = random_batch(config, kLengths, 0);
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    Bert bert = make_bert(config, options_with(Attention::fused, type));
    const BertOutcome first = run_step(bert, batch, &key);
    std::vector<at::Tensor> gradients;
    for (const NamedTensor& gradient : first.gradients) gradients.push_back(gradient.tensor.clone());
    const BertOutcome again = run_step(bert, batch, &key);
    CHECK(at::equal(first.logits, again.logits));
    for (std::size_t index = 0; index < gradients.size(); ++index)
      CHECK(at::equal(again.gradients[index].tensor, gradients[index]));
    const int threads = at::get_num_threads();
    at::set_num_threads(threads == 1 ? 2 : 1);
    const BertOutcome other = run_step(bert, batch, &key);
    at::set_num_threads(threads);
    for (std::size_t index = 0; index < gradients.size(); ++index) {
      if (is_gauge(again.gradients[index].name, config.num_hidden_layers)) continue;
      CHECK(relative_difference(other.gradients[index].tensor, gradients[index]) <= (type == at::kDouble ? 1e-13 : 2e-6));
    }
  }
}

TEST_CASE("gradients add up over two batches, and a gradient that is held is not written again") {
  const BertConfig config = tiny_bert_config();
  const BertBatch one = random_batch(config, {9, 20}, 0, {0, 1});
  const BertBatch two = random_batch(config, {30}, 0, {2});
  Bert bert = make_bert(config, options_with(Attention::fused));
  const BertOutcome first = run_step(bert, one, nullptr);
  std::vector<at::Tensor> copies;
  for (const NamedTensor& gradient : first.gradients) copies.push_back(gradient.tensor.clone());
  const BertOutcome second = run_step(bert, two, nullptr);
  for (std::size_t index = 0; index < copies.size(); ++index) CHECK(at::equal(first.gradients[index].tensor, copies[index]));
  run_step(bert, one, nullptr);
  bert.loss(two, bert.logits(two, nullptr)).mean.backward();
  for (std::size_t index = 0; index < copies.size(); ++index) {
    const at::Tensor sum = copies[index] + second.gradients[index].tensor;
    CHECK((bert.model().parameters[index].tensor.grad() - sum).norm().item<double>() <=
          1e-13 * (1 + sum.norm().item<double>()));
  }
}

TEST_CASE("512 tokens, and logits of any size, give finite numbers") {
  BertConfig config = tiny_bert_config();
  config.max_position_embeddings = 512;
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    Bert bert = make_bert(config, options_with(Attention::fused, type));
    Bert reference = make_bert(config, options_with(Attention::eager, at::kDouble));
    const BertBatch batch = random_batch(config, {512, 100, 1}, 512);
    const BertOutcome outcome = run_step(bert, batch, nullptr);
    check_same_outcome(outcome, run_step(reference, batch, nullptr), type == at::kDouble ? 1e-12 : 2e-5, 1e-4);
    {
      const at::NoGradGuard no_grad;
      for (NamedTensor& parameter : bert.model().parameters) {
        if (parameter.name.ends_with("query.weight") || parameter.name == "qa_outputs.weight") parameter.tensor.mul_(1e4);
      }
    }
    const BertOutcome extreme = run_step(bert, batch, nullptr);
    CHECK(std::isfinite(extreme.loss));
    for (const NamedTensor& gradient : extreme.gradients) CHECK(at::isfinite(gradient.tensor).all().item<bool>());
  }
}

TEST_CASE("positions: clamped, ignored at the row's length; nothing counted gives 0") {
  const BertConfig config = tiny_bert_config();
  for (const Attention attention : {Attention::eager, Attention::fused}) {
    BertOptions options = options_with(attention);
    options.pad_in_softmax = false;
    Bert bert = make_bert(config, options);
    BertBatch batch = random_batch(config, {2, 3}, 4);
    batch.starts = {-5, 3};
    batch.ends = {2, 9};
    // Row 0: logits 1, 2 | -, -; row 1: 3, 4, 5 | -. Padding must not take part.
    const at::Tensor logits = at::tensor({1.0, 0.0, 2.0, 0.0, 99.0, 99.0, 99.0, 99.0, 3.0, 0.0, 4.0, 0.0, 5.0, 0.0, 99.0, 99.0})
                                  .view({8, 2})
                                  .requires_grad_();
    const BertLoss loss = bert.loss(batch, logits);
    CHECK(loss.counted_starts == 1);
    CHECK(loss.counted_ends == 0);
    CHECK(loss.start_sum.item<double>() == doctest::Approx(std::log(1 + std::exp(1.0))).epsilon(1e-14));
    CHECK(loss.end_sum.item<double>() == 0);
    CHECK(loss.mean.item<double>() == doctest::Approx(std::log(1 + std::exp(1.0)) / 2).epsilon(1e-14));
    loss.mean.backward();
    CHECK(logits.grad()[0][0].item<double>() == doctest::Approx((1 / (1 + std::exp(1.0)) - 1) / 2).epsilon(1e-14));
    CHECK(logits.grad()[2][0].item<double>() == 0);
    batch.starts = {2, 3};
    const BertLoss none = bert.loss(batch, logits);
    none.mean.backward();
    CHECK(none.mean.item<double>() == 0);
  }
}

TEST_CASE("what does not fit is refused with its place") {
  const BertConfig config = tiny_bert_config();
  Bert bert(config, options_with(Attention::fused), 1);
  BertBatch batch = random_batch(config, {5, 9}, 0);
  batch.tokens[7] = 61;
  CHECK_THROWS_WITH(bert.logits(batch, nullptr),
                    "error: token 61 at position 2 of row 1 of a batch is not below 61, the size of its embedding");
  CHECK_THROWS_WITH(
      bert.logits(random_batch(config, {41}, 0), nullptr),
      "error: row 0 of a batch has 41 tokens in 41 places; it must have at least 1, and the model has 40 positions");
  BertOptions options = options_with(Attention::eager);
  options.checkpoint_activations = true;
  CHECK_THROWS_WITH(Bert(config, options, 1), "error: activation checkpointing needs fused attention");
  options = options_with(Attention::fused);
  options.bf16 = true;
  CHECK_THROWS_WITH(Bert(config, options, 1), "error: bf16 needs fp32 parameters");
}

}  // namespace hpcbench::train
