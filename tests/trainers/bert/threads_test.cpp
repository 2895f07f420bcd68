// Our kernels run on threads, and the numbers do not depend on how many.

#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randperm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "bert_testing.hpp"
#include "tasks/bert_squad/bert_products.hpp"

namespace hpcbench::train {

namespace {

/// Sets at::set_num_threads() until the end of the scope.
class WithThreads {
 public:
  explicit WithThreads(int threads) : before_(at::get_num_threads()) { at::set_num_threads(threads); }
  ~WithThreads() { at::set_num_threads(before_); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int before_;
};

/// Large enough that every kernel's work is divided (kGrain of bert_layer_pass.hpp), and tails occur.
BertConfig wide_bert_config() {
  BertConfig config = tiny_bert_config();
  config.hidden_size = 120;
  config.intermediate_size = 400;
  return config;
}

BertOutcome outcome_with(int threads, const BertOptions& options, std::int64_t padded_to) {
  const WithThreads with_threads(threads);
  const BertConfig config = wide_bert_config();
  Bert bert(config, options, 7);
  perturb(bert, 0.1, 3);
  const DropoutKey key{1, 1};
  const BertOutcome outcome = run_step(bert, random_batch(config, {17, 1, 33, 40, 5, 40, 29, 38}, padded_to), &key);
  BertOutcome copy{outcome.logits.clone(), outcome.loss, {}};
  for (const NamedTensor& gradient : outcome.gradients) copy.gradients.push_back({gradient.name, gradient.tensor.clone()});
  return copy;
}

/// Random matrices whose product is exactly 0: the second half of the summands cancels the first. A product then computes only
/// its rounding errors, so that another order of its sums shows in nearly every element.
std::pair<at::Tensor, at::Tensor> cancelling_factors(std::int64_t rows, std::int64_t summands, std::int64_t columns,
                                                     at::ScalarType type) {
  const std::int64_t half = summands / 2, odd = summands % 2;
  const at::Tensor left = at::randn({rows, half}), right = at::randn({half, columns}), order = at::randperm(half);
  return {at::cat({left, left.index_select(1, order), at::zeros({rows, odd})}, 1).to(type),
          at::cat({right, -right.index_select(0, order), at::zeros({odd, columns})}, 0).to(type)};
}

at::Tensor layer_product(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor out = at::empty({a.size(0), b.size(1)}, a.scalar_type());
  bert_product(out, a, b);
  return out;
}

at::Tensor head_product(const at::Tensor& a, const at::Tensor& b) { return at::mm(a, b); }

/// Returns whether y = x W^T, dx = dy W and dW = dy^T x have the same bits with 1 and with `threads` threads.
bool ignores_threads(int threads, at::Tensor (*product)(const at::Tensor&, const at::Tensor&), at::ScalarType type,
                     std::int64_t rows, std::int64_t in, std::int64_t out) {
  const auto same = [&](const at::Tensor& a, const at::Tensor& b) {
    const auto with = [&](int number) {
      const WithThreads with_threads(number);
      return product(a, b);
    };
    return at::equal(with(1), with(threads));
  };
  const auto [x, weight] = cancelling_factors(rows, in, out, type);
  const auto [dy, other_weight] = cancelling_factors(rows, out, in, type);
  const auto [dy_of_rows, x_of_rows] = cancelling_factors(out, rows, in, type);
  return same(x, weight.t().contiguous().t()) && same(dy, other_weight) && same(dy_of_rows.t().contiguous().t(), x_of_rows);
}

/// Returns whether all of LibTorch's products in a step of wide_bert_config() have the same bits with 1 and with `threads`
/// threads. The processor and the shape decide it: docs/trainer.md.
bool products_ignore_threads(int threads, const BertOptions& options, std::int64_t tokens) {
  const BertConfig config = wide_bert_config();
  const std::int64_t hidden = config.hidden_size, inner = config.intermediate_size, rows = bert_padded_rows(tokens);
  const at::ScalarType type = options.bf16 ? at::kBFloat16 : options.type;
  constexpr std::int64_t kPositions = 2;  // start and end
  return ignores_threads(threads, layer_product, type, rows, hidden, 3 * hidden) &&
         ignores_threads(threads, layer_product, type, rows, hidden, hidden) &&
         ignores_threads(threads, layer_product, type, rows, hidden, inner) &&
         ignores_threads(threads, layer_product, type, rows, inner, hidden) &&
         ignores_threads(threads, head_product, options.type, tokens, hidden, kPositions);
}

/// Returns how far apart sums in another order may be, of values of order 1.
double tolerance_of(at::ScalarType type) { return type == at::kDouble ? 1e-12 : type == at::kFloat ? 1e-5 : 1e-2; }

/// Returns whether they are at most `tolerance` of the larger of 1 and b's largest value apart; for 0: have the same bits.
bool agree(const at::Tensor& a, const at::Tensor& b, double tolerance) {
  return (a - b).abs().max().item<double>() <= tolerance * std::max(1.0, b.abs().max().item<double>());
}

}  // namespace

TEST_CASE("at::parallel_for runs its parts on threads") {
  // A header of LibTorch: compiled without -fopenmp it calls the whole range on the caller's thread.
  const WithThreads two(2);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  std::set<std::pair<std::int64_t, std::int64_t>> parts;
  at::parallel_for(0, 2, 1, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    ids.insert(std::this_thread::get_id());
    parts.insert({begin, end});
  });
  CHECK(ids.size() == 2);
  CHECK((parts == std::set<std::pair<std::int64_t, std::int64_t>>{{0, 1}, {1, 2}}));
}

TEST_CASE("loss, logits and gradients do not depend on the number of threads beyond the products' rounding, dropout on") {
  BertOptions single, half, exact;
  half.bf16 = true;
  exact.type = at::kDouble;
  for (BertOptions options : {single, half, exact}) {
    for (const std::int64_t padded_to : {0, 40}) {
      options.pad_in_softmax = padded_to > 0;
      CAPTURE(options.bf16);
      CAPTURE(c10::toString(options.type));
      CAPTURE(padded_to);
      const BertOutcome one = outcome_with(1, options, padded_to);
      for (const int threads : {2, 3, 4}) {
        const bool same_products = products_ignore_threads(threads, options, one.logits.size(0));
        const double tolerance = same_products ? 0 : tolerance_of(options.bf16 ? at::kBFloat16 : options.type);
        CAPTURE(threads);
        CAPTURE(tolerance);
        const BertOutcome other = outcome_with(threads, options, padded_to);
        CHECK(std::abs(other.loss - one.loss) <= tolerance);
        CHECK(agree(other.logits, one.logits, tolerance));
        for (std::size_t index = 0; index < one.gradients.size(); ++index) {
          CAPTURE(one.gradients[index].name);
          CHECK(agree(other.gradients[index].tensor, one.gradients[index].tensor, tolerance));
        }
      }
    }
  }
}

}  // namespace hpcbench::train
