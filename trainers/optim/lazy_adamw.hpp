#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/kernels.hpp"
#include "kernels/zero_pages.hpp"
#include "optim/touched_rows.hpp"

namespace hpcbench::train {

/// AdamW for a table of embeddings on a CPU whose row marks are trusted (TouchedRows). A step updates only the rows that have a
/// gradient. All others are postponed, and make their steps one after another when the model is about to read them or a caller
/// wants the whole table: a row then passes through the caches once, not once per step. The results are the same, bit for bit.
/// A row's state takes memory from its first gradient on.
class LazyAdamW {
 public:
  /// The parameter must be contiguous; all states are 0.
  explicit LazyAdamW(const at::Tensor& table);

  /// Makes the next step: rows that a pass after the first `passes_before` ones touched get their gradient.
  void step(const kernels::AdamWFactors& factors, const at::Tensor& gradient, const TouchedRows& touched,
            std::int64_t passes_before);
  /// Makes the postponed steps of these rows; a row may be named more than once.
  void catch_up(const std::int64_t* rows, std::int64_t count);
  void catch_up_all();

  struct States {
    at::Tensor first, second;  // mean gradient and mean squared gradient, with the table's sizes
  };
  /// Returns copies, with all rows up to date.
  States states();
  /// Replaces the states; the table's rows count as up to date.
  void load_states(const States& states);

 private:
  /// A row, and how many of the stored steps it has made.
  struct Behind {
    std::int64_t row;
    std::int64_t made;
  };
  template <class T>
  void make_up(const Behind& late);
  template <class T>
  T* row_of(const at::Tensor& tensor, std::int64_t row) const;
  /// Returns the row's mean gradient, then its mean squared gradient; null where both are 0.
  template <class T>
  T* state_of(std::int64_t row) const;
  /// Makes a state of zeros for a row that has none.
  void give_state(std::int64_t row);

  at::Tensor table_;
  std::int64_t width_;
  std::vector<kernels::AdamWFactors> steps_;  // since all rows were up to date
  std::vector<std::int64_t> made_;            // by row: the number of steps made of these
  kernels::PageArena arena_;
  std::vector<std::shared_ptr<void>> chunks_;  // of kRowsOfChunk states each
  std::vector<std::int64_t> places_;           // by row: the place of its state among all states; -1: none
  std::int64_t states_ = 0;
};

}  // namespace hpcbench::train
