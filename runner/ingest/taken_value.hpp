#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/take.hpp"

namespace hpcbench {

/// Values that do not count, because their index occurs again.
struct Repeats {
  long long left_out = 0;
  bool are_copies = false;  // of values that count
  long long periods = 0;    // the index begins again so many times, each time after the same number; then all values count
  double period = 0;        // by how much it would be higher had it continued
};

/// The one value that a metric has of those that a run's files hold, fed in their order. Memory stays bounded: of more than
/// 8,388,608 values a quantile is that of every second (fourth ...) one, and `stride` says so.
class TakenValue {
 public:
  TakenValue(Take take, long long skip) : take_(take), skip_(skip) {}

  /// Whether it is what `take` chooses of those so far: `show` names its line. Of a sum or quantile every value is.
  bool add(double value);
  /// The same for a value with the number of its index, or of the word that is its index.
  bool add(double value, double index, bool is_word);
  /// Something that is there and is no number: true if it counts, which only `count` does.
  bool add_text();
  /// NaN or an infinity: `last` and `first` have no value where they would choose it; all others leave it out.
  void add_not_finite();

  /// Leaves out values whose index occurs again. Where every index has the same few copies of one value, one of them stays.
  /// Where an index begins again like the steps of epochs, all stay. Else values stay in the last row of values with one index,
  /// as after a resume that repeats steps; those with words all stay. Returns what was left out. Above 4,194,304 values nothing
  /// is.
  Repeats leave_out_repeats();

  /// Absent where nothing is left after `skip`, the chosen one is not finite, or a sum does not fit.
  std::optional<double> value();
  long long chosen_from() const { return seen_ > skip_ ? seen_ - skip_ : 0; }
  long long stride() const { return stride_; }

 private:
  static constexpr std::size_t kMostKept = std::size_t{1} << 23;
  static constexpr std::size_t kMostIndexed = std::size_t{1} << 22;

  struct Indexed {
    double index = 0, value = 0;
  };

  /// Whether each index has equally many values, 2 to 4, that are equal; but not all values of all indexes are.
  bool are_copies(const std::vector<std::size_t>& order) const;
  Repeats find_periods() const;
  bool choose(double value, bool chosen);
  void keep(double value);

  Take take_;
  long long skip_ = 0;
  long long seen_ = 0;
  long long stride_ = 1;
  bool first_is_not_finite_ = false;
  double one_ = 0;           // of last, first, min, max
  long double sum_ = 0;      // of sum, mean
  std::vector<double> all_;  // of a quantile
  long long texts_ = 0;      // among those seen
  std::vector<Indexed> indexed_;
  bool has_words_ = false;  // an index of them is a word
  bool may_repeat_ = false;
  bool has_too_many_ = false;
};

}  // namespace hpcbench
