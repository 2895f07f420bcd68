#include "tasks/bert_squad/bert_numbers.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "tasks/bert_squad/bert_weights.hpp"

namespace hpcbench::train {

namespace {

/// Returns the number of filling tokens.
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

/// Fixed: two stretches for each row, the second of which may be empty, and the longest row's size as the maximum of both.
VarlenRows varlen_rows(const BertRows& rows, std::int64_t filler, bool is_fixed) {
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
    if (const std::int64_t padding = rows.size(row) - keys; padding > 0 || is_fixed) add(0, padding);
    if (is_fixed) varlen.most_keys = std::max(varlen.most_keys, rows.size(row));
  }
  if (filler > 0) add(filler, filler);
  return varlen;
}

RowSumsPlan lookers_of(const BertRows& rows, const BertConfig& config, bool is_fixed) {
  const std::int64_t positions = config.vocab_size;
  const std::int64_t types = positions + config.max_position_embeddings;
  RowSumsBounds bounds{3 * rows.tokens, rows.tokens, 0};
  for (const std::int64_t table : {config.vocab_size, config.max_position_embeddings, config.type_vocab_size})
    bounds.results += std::min(table, rows.tokens);
  RowSumsPlanner planner(types + config.type_vocab_size, is_fixed ? bounds : RowSumsBounds{});
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

/// The competing logits, row by row, those of starts first, and the positions of each token's two among them.
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

/// Returns the keys of all sites, by their numbers.
std::vector<std::int64_t> site_keys_of(const BertDropout& dropout, const BertConfig& config) {
  std::vector<std::int64_t> keys(static_cast<std::size_t>(1 + 3 * config.num_hidden_layers));
  const auto add = [&keys](const kernels::DropoutSite& site) { keys[site.number] = static_cast<std::int64_t>(site.key); };
  add(dropout.embeddings());
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    for (const kernels::DropoutSite& site : {dropout.attention(layer), dropout.attention_output(layer), dropout.output(layer)})
      add(site);
  }
  return keys;
}

}  // namespace

/// Packs numbers one after the other.
class BertNumbers::Packer {
 public:
  explicit Packer(BertNumbers& numbers) : numbers_(numbers) {}

  /// Packs `values`, of 64 or 32 bits, as the tensor `part`, in as many places of 64 bits as they need.
  template <class Value>
  void add(at::Tensor& part, const std::vector<Value>& values) {
    constexpr std::size_t kPlaceBytes = 8;
    const auto begin = std::ssize(places_);
    const std::size_t bytes = values.size() * sizeof(Value);
    places_.resize(places_.size() + (bytes + kPlaceBytes - 1) / kPlaceBytes);
    std::memcpy(places_.data() + begin, values.data(), bytes);
    numbers_.parts_.push_back(
        {&part, begin, std::ssize(places_) - begin, std::ssize(values), c10::CppTypeToScalarType<Value>::value});
    numbers_.shape.push_back(std::ssize(values));
  }

  void pack() const {
    numbers_.packed = at::empty({std::ssize(places_)}, at::kLong);
    std::copy(places_.begin(), places_.end(), numbers_.packed.mutable_data_ptr<std::int64_t>());
  }

 private:
  BertNumbers& numbers_;
  std::vector<std::int64_t> places_;
};

BertNumbers::BertNumbers(const BertBatch& batch, const BertRows& checked, const BertConfig& config,
                         const BertNumbersForm& form) {
  const std::int64_t filler = filler_of(checked, form.tokens_multiple);
  rows = varlen_rows(checked, filler, form.is_fixed);
  Packer packer(*this);
  packer.add(ids, filled(checked.ids, checked.tokens, filler, kPaddingToken));
  packer.add(positions, filled(checked.positions.data(), checked.tokens, filler, 0));
  packer.add(types, filled(checked.types, checked.tokens, filler, 0));
  packer.add(token_keys, filled(reinterpret_cast<const std::int64_t*>(checked.token_keys.data()), checked.tokens, filler, 0));
  if (form.dropout) packer.add(site_keys, site_keys_of(BertDropout(form.dropout, config), config));
  const RowSumsPlan plan = lookers_of(checked, config, form.is_fixed);
  look_ups.kept = plan.kept;
  packer.add(look_ups.rows, plan.rows);
  packer.add(look_ups.stretches, plan.stretches);
  packer.add(look_ups.in_order, plan.in_order);
  packer.add(look_ups.results, plan.results);
  packer.add(rows.queries_there, std::vector<std::int32_t>(rows.queries.begin(), rows.queries.end()));
  packer.add(rows.keys_there, std::vector<std::int32_t>(rows.keys.begin(), rows.keys.end()));
  shape.insert(shape.end(), {rows.most_queries, rows.most_keys});
  if (!batch.starts.empty()) add_targets(packer, batch, form.pad_in_softmax, filler);  // loss() needs them
  packer.pack();
}

void BertNumbers::add_targets(Packer& packer, const BertBatch& batch, bool pad_in_softmax, std::int64_t filler) {
  std::int64_t counted[2] = {0, 0};  // starts, ends: divisors of their losses
  for (std::size_t row = 0; row < batch.lengths.size(); ++row) {
    const std::int64_t competing = bert_target(batch, pad_in_softmax, row, false).competing;
    widest = std::max(widest, competing);
    in_order = in_order && competing == batch.row_begin[1] &&
               batch.row_begin[row + 1] == static_cast<std::int64_t>(row + 1) * competing;
    for (const bool is_end : {false, true})
      counted[is_end ? 1 : 0] += bert_target(batch, pad_in_softmax, row, is_end).counted ? 1 : 0;
  }
  shape.insert(shape.end(), {widest, in_order ? 1 : 0, counted[0], counted[1]});
  packer.add(gold, gold_of(batch, pad_in_softmax));
  if (in_order) return;
  Competing competing = competing_of(batch, pad_in_softmax, widest);
  competing.slot_begins.insert(competing.slot_begins.end(), static_cast<std::size_t>(2 * filler),
                               static_cast<std::int32_t>(competing.slots.size()));
  packer.add(from, competing.from);
  packer.add(beyond, competing.beyond);
  packer.add(slots, competing.slots);
  packer.add(slot_begins, competing.slot_begins);
}

void BertNumbers::lie_in(const at::Tensor& there) {
  for (const Part& part : parts_)
    *part.tensor = there.narrow(0, part.begin, part.places).view(part.type).narrow(0, 0, part.count);
}

}  // namespace hpcbench::train
