// What runs on threads, and that nobody sees from the numbers how many there were.

#include <mutex>
#include <set>
#include <thread>

#include "bert_testing.hpp"

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

TEST_CASE("loss, logits and gradients are the same bits with 1, 2, 3 and 4 threads, dropout on") {
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
        CAPTURE(threads);
        const BertOutcome other = outcome_with(threads, options, padded_to);
        CHECK(other.loss == one.loss);
        CHECK(at::equal(other.logits, one.logits));
        for (std::size_t index = 0; index < one.gradients.size(); ++index) {
          CAPTURE(one.gradients[index].name);
          CHECK(at::equal(other.gradients[index].tensor, one.gradients[index].tensor));
        }
      }
    }
  }
}

}  // namespace hpcbench::train
