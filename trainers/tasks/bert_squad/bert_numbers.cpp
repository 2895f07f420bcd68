#include "tasks/bert_squad/bert_numbers.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "devices/bring.hpp"

namespace hpcbench::train {

namespace {

/// Numbers one after the other; which tensor a part becomes is said where it is written.
class NumberRoll {
 public:
  explicit NumberRoll(std::int64_t count) : host_(at::empty({count}, at::kLong)) {}

  /// The next `count` numbers, to be written.
  std::int64_t* add(at::Tensor& part, std::int64_t count) {
    parts_.push_back({&part, end_, count});
    end_ += count;
    TORCH_CHECK(end_ <= host_.numel(), "more numbers of a batch than were planned");
    return host_.mutable_data_ptr<std::int64_t>() + parts_.back().begin;
  }

  void bring_to(at::Device place) const {
    const at::Tensor there = bring(host_, place);
    for (const Part& part : parts_) *part.tensor = there.narrow(0, part.begin, part.count);
  }

 private:
  struct Part {
    at::Tensor* tensor;
    std::int64_t begin, count;
  };
  at::Tensor host_;
  std::vector<Part> parts_;
  std::int64_t end_ = 0;
};

VarlenRows varlen_rows(const BertRows& rows) {
  VarlenRows varlen;
  varlen.queries = varlen.keys = {0};
  const auto add = [&varlen](std::int64_t queries, std::int64_t keys) {
    varlen.queries.push_back(varlen.queries.back() + queries);
    varlen.keys.push_back(varlen.keys.back() + keys);
    varlen.most_queries = std::max(varlen.most_queries, queries);
    varlen.most_keys = std::max(varlen.most_keys, keys);
  };
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const std::int64_t keys = rows.keys[static_cast<std::size_t>(row)];
    add(rows.size(row), keys);
    if (const std::int64_t padding = rows.size(row) - keys; padding > 0) add(0, padding);
  }
  return varlen;
}

/// Where `widest` and `in_order` are known.
void add_targets(NumberRoll& roll, const BertBatch& batch, bool pad_in_softmax, BertNumbers& numbers) {
  const std::int64_t rows = std::ssize(batch.lengths);
  std::int64_t* const gold = roll.add(numbers.gold, 2 * rows);
  std::int64_t* const from = numbers.in_order ? nullptr : roll.add(numbers.from, rows * numbers.widest);
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto index = static_cast<std::size_t>(row);
    for (std::int64_t column = 0; column < 2; ++column) {
      const BertTarget target = bert_target(batch, pad_in_softmax, index, column == 1);
      gold[2 * row + column] = target.counted ? target.position : BertNumbers::kIgnored;
    }
    if (numbers.in_order) continue;
    const std::int64_t competing = bert_target(batch, pad_in_softmax, index, false).competing;
    std::int64_t* const of_row = from + row * numbers.widest;
    std::iota(of_row, of_row + competing, batch.row_begin[index]);
    std::fill(of_row + competing, of_row + numbers.widest, batch.row_begin.back());
  }
}

}  // namespace

BertNumbers::BertNumbers(const BertBatch& batch, const BertRows& checked, bool pad_in_softmax, at::Device place)
    : rows(varlen_rows(checked)) {
  const bool has_targets = !batch.starts.empty();  // loss() asks for them
  for (std::int64_t row = 0; has_targets && row < checked.count; ++row) {
    const auto index = static_cast<std::size_t>(row);
    const std::int64_t competing = bert_target(batch, pad_in_softmax, index, false).competing;
    widest = std::max(widest, competing);
    in_order = in_order && competing == batch.row_begin[1] && batch.row_begin[index + 1] == (row + 1) * competing;
  }
  const std::int64_t begins = std::ssize(rows.queries);
  NumberRoll roll(3 * checked.tokens + begins + (has_targets ? checked.count * (2 + (in_order ? 0 : widest)) : 0));
  std::copy_n(checked.ids, checked.tokens, roll.add(ids, checked.tokens));
  std::copy_n(checked.positions.data(), checked.tokens, roll.add(positions, checked.tokens));
  std::copy_n(checked.types, checked.tokens, roll.add(types, checked.tokens));
  // Two numbers of 32 bits in the place of one of 64.
  at::Tensor halves;
  auto* const written = reinterpret_cast<std::int32_t*>(roll.add(halves, begins));
  std::copy(rows.queries.begin(), rows.queries.end(), written);
  std::copy(rows.keys.begin(), rows.keys.end(), written + begins);
  if (has_targets) add_targets(roll, batch, pad_in_softmax, *this);
  roll.bring_to(place);
  halves = halves.view(at::kInt);
  rows.queries_there = halves.narrow(0, 0, begins);
  rows.keys_there = halves.narrow(0, begins, begins);
}

}  // namespace hpcbench::train
