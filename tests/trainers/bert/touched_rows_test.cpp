#include "bert_testing.hpp"

namespace hpcbench::train {

TEST_CASE("gradients in tables that are used again are those in fresh ones, also while others are held or added up") {
  const BertConfig config = tiny_bert_config();
  BertOptions options;
  options.type = at::kDouble;
  Bert marked(config, options, 3), dense(config, options, 3);
  TouchedRows& touched = *marked.model().parameters.front().touched;
  touched.trust();
  std::vector<std::pair<at::Tensor, at::Tensor>> held;  // a gradient, and what it was
  for (std::int64_t step = 0; step < 6; ++step) {
    const DropoutKey key{1, step};
    for (Bert* bert : {&marked, &dense}) {
      for (NamedTensor& parameter : bert->model().parameters) parameter.tensor.mutable_grad().reset();
    }
    const std::int64_t passes = touched.passes();
    for (std::int64_t pass = 0; pass < 1 + step % 3; ++pass) {
      const BertBatch batch = random_batch(config, {3, 5}, 0, {2 * pass + 10 * step, 2 * pass + 10 * step + 1});
      for (Bert* bert : {&marked, &dense}) bert->loss(batch, bert->logits(batch, &key)).mean.backward();
      for (std::int64_t token = 0; token < batch.tokens.numel(); ++token)
        CHECK(touched.touched_after(batch.tokens[token].item<std::int64_t>(), passes));
    }
    const at::Tensor own = marked.model().parameters.front().tensor.grad();
    REQUIRE(at::equal(own, dense.model().parameters.front().tensor.grad()));
    for (std::int64_t row = 0; row < own.size(0); ++row) {
      if (!touched.touched_after(row, passes)) CHECK(own[row].abs().max().item<double>() == 0);
    }
    for (const auto& [gradient, was] : held) CHECK(at::equal(gradient, was));
    if (step % 2 == 0) held.emplace_back(own, own.clone());
  }
  CHECK_FALSE(dense.model().parameters.front().touched->is_trusted());
  BertOptions eager = options;
  eager.attention = Attention::eager;
  CHECK(Bert(config, eager, 3).model().parameters.front().touched == nullptr);  // its gradients are LibTorch's
}

}  // namespace hpcbench::train
