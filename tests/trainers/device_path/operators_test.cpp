// The number of operators in one optimiser step of LibTorch's path. On a GPU every operator is at least one launch.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <map>
#include <string>

#include "optim/optimizer.hpp"
#include "tasks/bert_squad/bert.hpp"
#include "tasks/bert_squad/bert_varlen.hpp"
#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

/// Operators that allocate or name memory and compute nothing; views are known by their schema.
bool is_allocation(const std::string& name) {
  constexpr const char* kNames[] = {"aten::empty",     "aten::empty_like",        "aten::empty_strided",
                                    "aten::new_empty", "aten::new_empty_strided", "aten::detach",
                                    "aten::set_",      "aten::resize_",           "aten::lift_fresh"};
  return std::any_of(std::begin(kNames), std::end(kNames), [&](const char* each) { return name == each; });
}

bool is_view(const c10::FunctionSchema& schema) {
  for (const c10::Argument& result : schema.returns()) {
    if (!result.alias_info() || result.alias_info()->isWrite()) return false;
  }
  return !schema.returns().empty();
}

/// Counts operators that are not inside another one. One that only calls others (CompositeImplicitAutograd) does not count.
class OperatorCount {
 public:
  OperatorCount() {
    current() = this;
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&begin, &end).scopes({at::RecordScope::FUNCTION}));
  }
  ~OperatorCount() {
    at::removeCallback(handle_);
    current() = nullptr;
  }
  OperatorCount(const OperatorCount&) = delete;
  OperatorCount& operator=(const OperatorCount&) = delete;

  std::int64_t total() const {
    std::int64_t sum = 0;
    for (const auto& [name, count] : counts_) sum += count;
    return sum;
  }
  std::string text() const {
    std::string all;
    for (const auto& [name, count] : counts_) all += name + " " + std::to_string(count) + "\n";
    return all;
  }

 private:
  struct Inside final : at::ObserverContext {};

  static OperatorCount*& current() {
    static OperatorCount* count = nullptr;
    return count;
  }
  static int& depth() {
    static thread_local int levels = 0;
    return levels;
  }

  /// Attention's plain form counts as the one operator that it is on a GPU.
  static bool is_attention(const std::string& name) { return name == kVarlenForward || name == kVarlenBackward; }

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    const std::string name = function.name();
    bool counts = is_attention(name);
    if (!counts) {
      const std::optional<c10::OperatorName> known = function.operator_name();
      if (!known) return nullptr;
      const auto found = c10::Dispatcher::singleton().findSchema(*known);
      if (!found || found->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) return nullptr;
      counts = !is_view(found->schema()) && !is_allocation(known->name);
    }
    if (depth()++ == 0 && counts) ++current()->counts_[name];
    return std::make_unique<Inside>();
  }

  static void end(const at::RecordFunction&, at::ObserverContext* context) {
    if (context != nullptr) --depth();
  }

  at::CallbackHandle handle_ = 0;
  std::map<std::string, std::int64_t> counts_;
};

/// As many layers as BERT-base has, with small matrices: the count does not depend on their sizes.
BertConfig narrow_config() {
  BertConfig config;
  config.vocab_size = 50;
  config.hidden_size = 24;
  config.intermediate_size = 48;
  config.max_position_embeddings = 32;
  return config;
}

/// Returns rows of these lengths, padded to `size` (0: packed).
BertBatch batch_of(const std::vector<std::int64_t>& lengths, std::int64_t size) {
  BertBatch batch;
  batch.row_begin = {0};
  for (const std::int64_t length : lengths) {
    batch.row_begin.push_back(batch.row_begin.back() + std::max(size, length));
    batch.lengths.push_back(length);
    batch.places.push_back(std::ssize(batch.places));
    batch.starts.push_back(1);
    batch.ends.push_back(2);
  }
  batch.tokens = at::ones({batch.row_begin.back()}, at::kLong);
  batch.types = at::zeros({batch.row_begin.back()}, at::kLong);
  return batch;
}

/// Checks that one optimiser step of AdamW with clipping and dropout has at most `budget` operators.
std::int64_t operators_of_step(const BertBatch& batch, const BertOptions& options, std::int64_t budget) {
  Bert bert(narrow_config(), options, 1);
  OptimizerOptions update;
  update.kind = OptimizerKind::adamw;
  update.clip = 1;
  update.weight_decay = 0.01;
  update.torch_kernels = true;
  Optimizer optimizer(update, bert.model().parameters);
  const DropoutKey key{1, 1};
  const OperatorCount count;
  bert.loss(batch, bert.logits(batch, &key)).mean.backward();
  optimizer.step(1e-3);
  INFO(count.text());
  CHECK(count.total() <= budget);
  return count.total();
}

}  // namespace

TEST_CASE("operators of one step of BERT-base: a budget, whatever the rows are") {
  // tests/gpu/README.md has these numbers.
  const struct {
    const char* name;
    bool bf16;
    std::int64_t padded, packed;
  } kinds[] = {{"fp32", false, 408, 407}, {"bf16", true, 425, 424}};
  for (const auto& kind : kinds) {
    CAPTURE(kind.name);
    BertOptions options;
    options.attention = Attention::operators;
    options.dropout_bits = DropoutBits::device;
    options.bf16 = kind.bf16;
    operators_of_step(batch_of({8, 8, 8, 8}, 8), options, kind.padded);
    const std::int64_t packed = operators_of_step(batch_of({8, 5, 9, 3}, 0), options, kind.packed);
    CHECK(operators_of_step(batch_of({8, 5, 9, 3, 7, 4, 11}, 0), options, kind.packed) == packed);
    const std::int64_t padded = operators_of_step(batch_of({8, 5, 9, 3}, 12), options, kind.padded);
    CHECK(operators_of_step(batch_of({8, 5, 9, 3, 7, 4, 11}, 12), options, kind.padded) == padded);
  }
}

}  // namespace hpcbench::train
