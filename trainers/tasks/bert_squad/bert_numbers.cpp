#include "tasks/bert_squad/bert_numbers.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "devices/bring.hpp"
#include "tasks/bert_squad/bert_weights.hpp"

namespace hpcbench::train {

namespace {

/// Numbers one after the other; which tensor a part becomes is said where it is written.
class NumberRoll {
 public:
  /// `numbers`, of 64 or 32 bits, as the tensor `part`, in as many places of 64 bits as they need.
  template <class Number>
  void add(at::Tensor& part, const Number* numbers, std::int64_t count) {
    constexpr std::size_t kPlaceBytes = 8;
    const auto begin = std::ssize(places_);
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(Number);
    places_.resize(places_.size() + (bytes + kPlaceBytes - 1) / kPlaceBytes);
    std::memcpy(places_.data() + begin, numbers, bytes);
    parts_.push_back({&part, begin, std::ssize(places_) - begin, count, c10::CppTypeToScalarType<Number>::value});
  }
  template <class Number>
  void add(at::Tensor& part, const std::vector<Number>& numbers) {
    add(part, numbers.data(), std::ssize(numbers));
  }

  void bring_to(at::Device place) {
    const at::Tensor host = at::empty({std::ssize(places_)}, at::kLong);
    std::copy(places_.begin(), places_.end(), host.mutable_data_ptr<std::int64_t>());
    const at::Tensor there = bring(host, place);
    for (const Part& part : parts_)
      *part.tensor = there.narrow(0, part.begin, part.places).view(part.type).narrow(0, 0, part.count);
  }

 private:
  struct Part {
    at::Tensor* tensor;
    std::int64_t begin, places, count;
    at::ScalarType type;
  };
  std::vector<std::int64_t> places_;
  std::vector<Part> parts_;
};

/// How many tokens fill up.
std::int64_t filler_of(const BertRows& rows, std::int64_t multiple) {
  std::int64_t row = 0;
  while (row < rows.count && rows.size(row) == rows.size(0)) ++row;
  return row == rows.count ? 0 : (multiple - rows.tokens % multiple) % multiple;
}

std::vector<std::int64_t> filled(const std::int64_t* numbers, std::int64_t count, std::int64_t filler, std::int64_t by) {
  std::vector<std::int64_t> all(numbers, numbers + count);
  all.insert(all.end(), static_cast<std::size_t>(filler), by);
  return all;
}

VarlenRows varlen_rows(const BertRows& rows, std::int64_t filler) {
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
  if (filler > 0) add(filler, filler);
  return varlen;
}

RowSumsPlan lookers_of(const BertRows& rows, const BertConfig& config) {
  const std::int64_t positions = config.vocab_size;
  const std::int64_t types = positions + config.max_position_embeddings;
  RowSumsPlanner planner(types + config.type_vocab_size);
  for (std::int64_t token = 0; token < rows.tokens; ++token) {
    if (rows.ids[token] != kPaddingToken) planner.add(rows.ids[token], token);
    planner.add(positions + rows.positions[static_cast<std::size_t>(token)], token);
    planner.add(types + rows.types[token], token);
  }
  return planner.plan();
}

std::vector<std::int64_t> gold_of(const BertBatch& batch, bool pad_in_softmax) {
  std::vector<std::int64_t> gold;
  for (std::size_t row = 0; row < batch.lengths.size(); ++row) {
    for (const bool is_end : {false, true}) {
      const BertTarget target = bert_target(batch, pad_in_softmax, row, is_end);
      gold.push_back(target.counted ? target.position : BertNumbers::kIgnored);
    }
  }
  return gold;
}

/// Which logits compete, row by row, first those of starts, and where each token's two stand among them.
struct Competing {
  std::vector<std::int64_t> from;
  std::vector<float> beyond;
  std::vector<std::int32_t> slots, slot_begins;
};

Competing competing_of(const BertBatch& batch, bool pad_in_softmax, std::int64_t widest) {
  Competing all;
  for (std::size_t row = 0; row < batch.lengths.size(); ++row) {
    const std::int64_t competing = bert_target(batch, pad_in_softmax, row, false).competing;
    const std::int64_t begin = batch.row_begin[row], size = batch.row_begin[row + 1] - begin;
    const std::int64_t first_slot = std::ssize(all.from);
    for (std::int64_t end = 0; end < 2; ++end) {
      for (std::int64_t position = 0; position < widest; ++position) {
        const bool is_there = position < competing;
        all.from.push_back(is_there ? 2 * (begin + position) + end : 0);
        all.beyond.push_back(is_there ? 0 : BertNumbers::kNeverChosen);
      }
    }
    for (std::int64_t position = 0; position < size; ++position) {
      for (std::int64_t end = 0; end < 2; ++end) {
        all.slot_begins.push_back(static_cast<std::int32_t>(all.slots.size()));
        if (position < competing) all.slots.push_back(static_cast<std::int32_t>(first_slot + end * widest + position));
      }
    }
  }
  return all;
}

}  // namespace

BertNumbers::BertNumbers(const BertBatch& batch, const BertRows& checked, const BertConfig& config, bool pad_in_softmax,
                         at::Device place, std::int64_t tokens_multiple) {
  const std::int64_t filler = filler_of(checked, tokens_multiple);
  rows = varlen_rows(checked, filler);
  NumberRoll roll;
  roll.add(ids, filled(checked.ids, checked.tokens, filler, kPaddingToken));
  roll.add(positions, filled(checked.positions.data(), checked.tokens, filler, 0));
  roll.add(types, filled(checked.types, checked.tokens, filler, 0));
  roll.add(token_keys, filled(reinterpret_cast<const std::int64_t*>(checked.token_keys.data()), checked.tokens, filler, 0));
  const RowSumsPlan plan = lookers_of(checked, config);
  roll.add(lookers.rows, plan.rows);
  roll.add(lookers.stretches, plan.stretches);
  roll.add(lookers.in_order, plan.in_order);
  roll.add(lookers.results, plan.results);
  roll.add(rows.queries_there, std::vector<std::int32_t>(rows.queries.begin(), rows.queries.end()));
  roll.add(rows.keys_there, std::vector<std::int32_t>(rows.keys.begin(), rows.keys.end()));
  const bool has_targets = !batch.starts.empty();  // loss() asks for them
  for (std::int64_t row = 0; has_targets && row < checked.count; ++row) {
    const auto index = static_cast<std::size_t>(row);
    const std::int64_t competing = bert_target(batch, pad_in_softmax, index, false).competing;
    widest = std::max(widest, competing);
    in_order = in_order && competing == batch.row_begin[1] && batch.row_begin[index + 1] == (row + 1) * competing;
  }
  if (has_targets) roll.add(gold, gold_of(batch, pad_in_softmax));
  if (has_targets && !in_order) {
    Competing competing = competing_of(batch, pad_in_softmax, widest);
    competing.slot_begins.insert(competing.slot_begins.end(), static_cast<std::size_t>(2 * filler),
                                 static_cast<std::int32_t>(competing.slots.size()));
    roll.add(from, competing.from);
    roll.add(beyond, competing.beyond);
    roll.add(slots, competing.slots);
    roll.add(slot_begins, competing.slot_begins);
  }
  roll.bring_to(place);
}

}  // namespace hpcbench::train
