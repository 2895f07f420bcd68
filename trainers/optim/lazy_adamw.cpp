#include "optim/lazy_adamw.hpp"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/any.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/ne.h>

#include <algorithm>
#include <numeric>

#include "optim/zero_tensor.hpp"

namespace hpcbench::train {

namespace {

constexpr std::int64_t kElementsOfTask = 4096;
constexpr std::int64_t kRowsOfChunk = 256;

/// Calls call(index) for 0 <= index < count in parallel, for rows of `width` elements.
template <class Call>
void for_each_row(std::int64_t count, std::int64_t width, const Call& call) {
  at::parallel_for(0, count, std::max<std::int64_t>(1, kElementsOfTask / std::max<std::int64_t>(1, width)),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t index = begin; index < end; ++index) call(static_cast<std::size_t>(index));
                   });
}

}  // namespace

LazyAdamW::LazyAdamW(const at::Tensor& table)
    : table_(table),
      width_(table.size(0) > 0 ? table.numel() / table.size(0) : 0),
      made_(static_cast<std::size_t>(table.size(0)), 0),
      places_(static_cast<std::size_t>(table.size(0)), -1) {}

template <class T>
T* LazyAdamW::row_of(const at::Tensor& tensor, std::int64_t row) const {
  return const_cast<T*>(tensor.const_data_ptr<T>()) + row * width_;  // the optimiser may change the table
}

template <class T>
T* LazyAdamW::state_of(std::int64_t row) const {
  const std::int64_t place = places_[static_cast<std::size_t>(row)];
  if (place < 0) return nullptr;
  return static_cast<T*>(chunks_[static_cast<std::size_t>(place / kRowsOfChunk)].get()) + place % kRowsOfChunk * 2 * width_;
}

void LazyAdamW::give_state(std::int64_t row) {
  std::int64_t& place = places_[static_cast<std::size_t>(row)];
  if (place >= 0) return;
  if (states_ % kRowsOfChunk == 0)
    chunks_.push_back(arena_.take(static_cast<std::size_t>(kRowsOfChunk * 2 * width_) * table_.element_size()));
  place = states_++;
}

void LazyAdamW::step(const kernels::AdamWFactors& factors, const at::Tensor& gradient, const TouchedRows& touched,
                     std::int64_t passes_before) {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < touched.rows(); ++row) {
    if (touched.touched_after(row, passes_before)) rows.push_back(row);
  }
  catch_up(rows.data(), std::ssize(rows));
  for (const std::int64_t row : rows) give_state(row);
  steps_.push_back(factors);
  AT_DISPATCH_FLOATING_TYPES(table_.scalar_type(), "late_rows_step", [&] {
    for_each_row(std::ssize(rows), width_, [&](std::size_t index) {
      const std::int64_t row = rows[index];
      auto* const state = state_of<scalar_t>(row);
      kernels::adamw(row_of<scalar_t>(table_, row), row_of<scalar_t>(gradient, row), state, state + width_, width_, factors);
    });
  });
  for (const std::int64_t row : rows) made_[static_cast<std::size_t>(row)] = std::ssize(steps_);
}

void LazyAdamW::catch_up(const std::int64_t* rows, std::int64_t count) {
  std::vector<Behind> late;
  for (std::int64_t index = 0; index < count; ++index) {
    std::int64_t& made = made_[static_cast<std::size_t>(rows[index])];
    if (made == std::ssize(steps_)) continue;
    late.push_back({rows[index], made});
    made = std::ssize(steps_);
  }
  if (late.empty()) return;
  AT_DISPATCH_FLOATING_TYPES(table_.scalar_type(), "late_rows_catch_up", [&] {
    for_each_row(std::ssize(late), width_, [&](std::size_t index) { make_up<scalar_t>(late[index]); });
  });
}

void LazyAdamW::catch_up_all() {
  std::vector<std::int64_t> rows(made_.size());
  std::iota(rows.begin(), rows.end(), 0);
  catch_up(rows.data(), std::ssize(rows));
  steps_.clear();
  std::fill(made_.begin(), made_.end(), 0);
}

template <class T>
void LazyAdamW::make_up(const Behind& late) {
  const kernels::AdamWFactors* const first_step = steps_.data() + late.made;
  const std::int64_t count = std::ssize(steps_) - late.made;
  T* const table = row_of<T>(table_, late.row);
  T* const state = state_of<T>(late.row);
  if (!state) return kernels::adamw_decay(table, width_, first_step, count);
  kernels::adamw_at_rest(table, state, state + width_, width_, first_step, count);
}

LazyAdamW::States LazyAdamW::states() {
  catch_up_all();
  const auto zeros = [&] {  // small pages: rows without a state take no memory
    return untouched_zeros(table_.sizes(), table_.options().requires_grad(false), kernels::Pages::small);
  };
  States states{zeros(), zeros()};
  AT_DISPATCH_FLOATING_TYPES(table_.scalar_type(), "late_rows_states", [&] {
    for_each_row(table_.size(0), width_, [&](std::size_t index) {
      const auto row = static_cast<std::int64_t>(index);
      const auto* const state = state_of<scalar_t>(row);
      if (!state) return;
      std::copy_n(state, width_, row_of<scalar_t>(states.first, row));
      std::copy_n(state + width_, width_, row_of<scalar_t>(states.second, row));
    });
  });
  return states;
}

void LazyAdamW::load_states(const States& states) {
  const at::Tensor first = states.first.to(table_.options()).contiguous();
  const at::Tensor second = states.second.to(table_.options()).contiguous();
  const at::Tensor any = first.ne(0).any(1).logical_or(second.ne(0).any(1));
  const bool* const has_state = any.const_data_ptr<bool>();
  steps_.clear();
  std::fill(made_.begin(), made_.end(), 0);
  AT_DISPATCH_FLOATING_TYPES(table_.scalar_type(), "late_rows_load", [&] {
    for (std::int64_t row = 0; row < table_.size(0); ++row) {
      if (has_state[row]) give_state(row);
      auto* const state = state_of<scalar_t>(row);
      if (!state) continue;
      std::copy_n(row_of<scalar_t>(first, row), width_, state);
      std::copy_n(row_of<scalar_t>(second, row), width_, state + width_);
    }
  });
}

}  // namespace hpcbench::train
