#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace hpcbench::train {

/// What a model tells of a table of embeddings: which rows its backward passes gave a gradient (that of all others was 0 in
/// every pass, so that an optimiser need not read it), and which rows its next forward pass reads (so that an optimiser may
/// leave all others behind until then).
///
/// That holds only where every gradient comes from this model's own passes. The strategy that knows it (baseline) says so with
/// trust(), before the first pass; where gradients of other ranks are added, nobody goes by these marks.
class TouchedRows {
 public:
  using BeforeRead = std::function<void(const std::int64_t* rows, std::int64_t count)>;

  explicit TouchedRows(std::int64_t rows) : last_pass_(static_cast<std::size_t>(rows), 0) {}

  void trust() { is_trusted_ = true; }
  bool is_trusted() const { return is_trusted_; }

  /// A backward pass begins.
  void begin_pass() { ++passes_; }
  /// The passes that have begun.
  std::int64_t passes() const { return passes_; }
  /// The pass that has begun adds to this row's gradient.
  void mark(std::int64_t row) { last_pass_[static_cast<std::size_t>(row)] = passes_; }
  /// A pass after the first `passes` ones did.
  bool touched_after(std::int64_t row, std::int64_t passes) const { return last_pass_[static_cast<std::size_t>(row)] > passes; }
  std::int64_t rows() const { return static_cast<std::int64_t>(last_pass_.size()); }

  /// Whoever leaves rows behind: called with those that are about to be read, some of them more than once.
  void before_read(BeforeRead call) { before_read_ = std::move(call); }
  /// A pass is about to read these rows.
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
