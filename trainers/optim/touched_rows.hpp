#pragma once

#include <cstdint>
#include <vector>

namespace hpcbench::train {

/// Which rows of a table of embeddings have had a gradient, kept by the model's backward passes: the gradient of all others
/// was 0 in every pass, so that an optimiser need not read it, and theirs is the state that it began with.
///
/// That holds only where every gradient comes from this model's own passes. The strategy that knows it (baseline) says so with
/// trust(), before the first pass; where gradients of other ranks are added, nobody goes by these marks.
class TouchedRows {
 public:
  explicit TouchedRows(std::int64_t rows) : last_pass_(static_cast<std::size_t>(rows), 0) {}

  void trust() { is_trusted_ = true; }
  bool is_trusted() const { return is_trusted_; }

  /// A backward pass begins.
  void begin_pass() { ++passes_; }
  /// The passes that have begun.
  std::int64_t passes() const { return passes_; }
  /// The pass that has begun adds to this row's gradient.
  void mark(std::int64_t row) { last_pass_[static_cast<std::size_t>(row)] = passes_; }
  /// A pass after the first `passes` ones did. (0: any.)
  bool touched_after(std::int64_t row, std::int64_t passes) const { return last_pass_[static_cast<std::size_t>(row)] > passes; }
  std::int64_t rows() const { return static_cast<std::int64_t>(last_pass_.size()); }

 private:
  std::vector<std::int64_t> last_pass_;  // 0: none
  std::int64_t passes_ = 0;
  bool is_trusted_ = false;
};

}  // namespace hpcbench::train
