#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace hpcbench::train {

/// A model's marks on a table of embeddings: the rows to which its backward passes gave a gradient (that of all others was 0 in
/// every pass, so that an optimiser need not read it), and the rows that its next forward pass reads (so that an optimiser may
/// postpone all others until then).
///
/// The marks hold only if every gradient comes from this model's own passes. The strategy that ensures it (baseline) calls
/// trust() before the first pass; if gradients of other ranks are added, the marks are not used.
class TouchedRows {
 public:
  using BeforeRead = std::function<void(const std::int64_t* rows, std::int64_t count)>;

  explicit TouchedRows(std::int64_t rows) : last_pass_(static_cast<std::size_t>(rows), 0) {}

  void trust() { is_trusted_ = true; }
  bool is_trusted() const { return is_trusted_; }

  /// Notes that a backward pass begins.
  void begin_pass() { ++passes_; }
  /// Returns the number of passes that have begun.
  std::int64_t passes() const { return passes_; }
  /// Notes that the current pass adds to this row's gradient.
  void mark(std::int64_t row) { last_pass_[static_cast<std::size_t>(row)] = passes_; }
  /// Returns whether a pass after the first `passes` ones touched the row.
  bool touched_after(std::int64_t row, std::int64_t passes) const { return last_pass_[static_cast<std::size_t>(row)] > passes; }
  std::int64_t rows() const { return static_cast<std::int64_t>(last_pass_.size()); }

  /// Sets a function that the optimiser needs before rows are read: it gets these rows, some of them more than once.
  void before_read(BeforeRead call) { before_read_ = std::move(call); }
  /// Announces that a pass is about to read these rows.
  void read(const std::int64_t* rows, std::int64_t count) const {
    if (before_read_) before_read_(rows, count);
  }

 private:
  std::vector<std::int64_t> last_pass_;  // 0: none
  std::int64_t passes_ = 0;
  bool is_trusted_ = false;
  BeforeRead before_read_;
};

}  // namespace hpcbench::train
