// What runs on threads, and that nobody sees from the numbers how many there were.

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randn.h>

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

/// at::set_num_threads() until the end of the scope.
class WithThreads {
 public:
  explicit WithThreads(int threads) : before_(at::get_num_threads()) { at::set_num_threads(threads); }
  ~WithThreads() { at::set_num_threads(before_); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int before_;
};

/// Large enough that every kernel's work is divided (kGrain of bert_layer_pass.hpp), and tails are met.
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

/// Whether LibTorch's own products of that type are the same bits with any number of threads. That depends on the processor: on
/// Intel's MKL splits long sums by threads.
bool products_ignore_threads(at::ScalarType type) {
  const BertConfig config = wide_bert_config();
  const std::int64_t rows = 224;
  const auto differs = [type](const at::Tensor& a, const at::Tensor& b) {
    at::Tensor one;
    for (const int threads : {1, 2, 3, 4}) {
      const WithThreads with_threads(threads);
      const at::Tensor out = at::empty({a.size(0), b.size(1)}, type);
      bert_product(out, a, b);
      if (!one.defined()) one = out;
      if (!at::equal(out, one)) return true;
    }
    return false;
  };
  // As in a linear layer: y = x W^T, dx = dy W, dW = dy^T x.
  for (const auto& [in, out] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{config.hidden_size, config.hidden_size},
                                                          {config.hidden_size, config.intermediate_size},
                                                          {config.intermediate_size, config.hidden_size}}) {
    const at::Tensor x = at::randn({rows, in}).to(type), weight = at::randn({out, in}).to(type),
                     dy = at::randn({rows, out}).to(type);
    if (differs(x, weight.t()) || differs(dy, weight) || differs(dy.t(), x)) return false;
  }
  return true;
}

/// How far apart sums in another order may be, of values of order 1.
double tolerance_of(at::ScalarType type) { return type == at::kDouble ? 1e-12 : type == at::kFloat ? 1e-5 : 1e-2; }

/// At most `tolerance` of the larger of 1 and b's largest value apart; the same bits for 0.
bool agree(const at::Tensor& a, const at::Tensor& b, double tolerance) {
  return (a - b).abs().max().item<double>() <= tolerance * std::max(1.0, b.abs().max().item<double>());
}

}  // namespace

TEST_CASE("at::parallel_for runs its parts on threads") {
  // A header of LibTorch's: compiled without -fopenmp it calls the whole range on the caller's thread.
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

TEST_CASE("loss, logits and gradients do not depend on the number of threads, dropout on") {
  BertOptions single, half, exact;
  half.bf16 = true;
  exact.type = at::kDouble;
  for (BertOptions options : {single, half, exact}) {
    for (const std::int64_t padded_to : {0, 40}) {
      options.pad_in_softmax = padded_to > 0;
      const at::ScalarType products = options.bf16 ? at::kBFloat16 : options.type;
      const double tolerance = products_ignore_threads(products) ? 0 : tolerance_of(products);
      CAPTURE(options.bf16);
      CAPTURE(c10::toString(options.type));
      CAPTURE(tolerance);
      CAPTURE(padded_to);
      const BertOutcome one = outcome_with(1, options, padded_to);
      for (const int threads : {2, 3, 4}) {
        CAPTURE(threads);
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
