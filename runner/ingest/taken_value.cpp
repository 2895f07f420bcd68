#include "ingest/taken_value.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

namespace hpcbench {

using Kind = Take::Kind;

bool TakenValue::add(double value) {
  if (++seen_ <= skip_) return false;
  const bool is_first = chosen_from() == 1;
  switch (take_.kind) {
    case Kind::last:
      return choose(value, true);
    case Kind::first:
      return choose(value, is_first);
    case Kind::min:
      return choose(value, is_first || value < one_);
    case Kind::max:
      return choose(value, is_first || value > one_);
    case Kind::sum:
    case Kind::mean:
      sum_ += value;
      return true;
    case Kind::count:
      return true;
    case Kind::quantile:
      keep(value);
      return true;
  }
  return false;
}

bool TakenValue::add(double value, double index, bool is_word) {
  constexpr double kWords = 4e15;  // above usual numbers, and doubles there are still exact
  if (is_word) index += kWords;
  has_words_ = has_words_ || is_word;
  may_repeat_ = may_repeat_ || (!indexed_.empty() && index <= indexed_.back().index);
  has_too_many_ = has_too_many_ || indexed_.size() == kMostIndexed;
  if (has_too_many_) {
    indexed_ = {};
  } else {
    indexed_.push_back({index, value});
  }
  return add(value);
}

bool TakenValue::are_copies(const std::vector<std::size_t>& order) const {
  constexpr std::size_t kMostCopies = 4, kFewestValues = 3;
  const auto is_same = [&](std::size_t a, std::size_t b) { return indexed_[order[a]].index == indexed_[order[b]].index; };
  std::size_t copies = 1;
  while (copies < order.size() && is_same(0, copies)) ++copies;
  if (copies < 2 || copies > kMostCopies || order.size() % copies != 0) return false;
  std::set<double> values;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t first = i - i % copies;
    if (!is_same(first, i) || indexed_[order[first]].value != indexed_[order[i]].value) return false;
    if (i == first && i > 0 && is_same(i - 1, i)) return false;
    if (values.size() < kFewestValues) values.insert(indexed_[order[i]].value);
  }
  return values.size() == kFewestValues;
}

/// Where an index begins again at its first number, each time after the same last one, as the steps of epochs do.
Repeats TakenValue::find_periods() const {
  constexpr std::size_t kFewest = 3;  // values between two beginnings
  Repeats none;
  std::vector<std::pair<double, double>> parts;  // first and last index
  std::size_t length = 0;
  for (std::size_t i = 0; i < indexed_.size(); ++i) {
    const double index = indexed_[i].index;
    if (i == 0 || index < indexed_[i - 1].index) {
      if (i > 0 && length < kFewest) return none;
      parts.emplace_back(index, index);
      length = 0;
    } else if (index == indexed_[i - 1].index) {
      return none;
    }
    parts.back().second = index;
    ++length;
  }
  const auto [first, last] = parts.empty() ? std::pair(0.0, 0.0) : parts.front();
  const bool is_cut = !parts.empty() && parts.back().second < last;
  if (parts.size() < (is_cut ? 3U : 2U)) return none;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].first != first || (parts[i].second != last && !(is_cut && i + 1 == parts.size()))) return none;
  }
  Repeats repeats;
  repeats.periods = static_cast<long long>(parts.size()) - 1;
  repeats.period = last - first + (indexed_[1].index - first);
  return repeats;
}

Repeats TakenValue::leave_out_repeats() {
  if (!may_repeat_ || has_too_many_) return {};
  std::vector<std::size_t> order(indexed_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return indexed_[a].index < indexed_[b].index; });
  Repeats repeats;
  repeats.are_copies = are_copies(order);
  if (has_words_ && !repeats.are_copies) return {};
  if (!repeats.are_copies) {
    if (const Repeats periods = find_periods(); periods.periods > 0) return periods;
  }
  std::vector<bool> stays(indexed_.size(), true);
  bool is_later_one = false;  // another row of values with this index follows
  for (std::size_t i = order.size(); i-- > 0;) {
    const bool is_last = i + 1 == order.size() || indexed_[order[i + 1]].index != indexed_[order[i]].index;
    is_later_one = !is_last && (is_later_one || repeats.are_copies || order[i + 1] != order[i] + 1);
    if (!is_later_one) continue;
    stays[order[i]] = false;
    ++repeats.left_out;
  }
  if (repeats.left_out == 0) return {};
  TakenValue rest(take_, skip_);
  for (std::size_t i = 0; i < stays.size(); ++i) {
    if (stays[i]) rest.add(indexed_[i].value);
  }
  rest.seen_ += texts_;
  rest.first_is_not_finite_ = first_is_not_finite_;
  if (take_.kind == Kind::last) rest.one_ = one_;
  *this = std::move(rest);
  return repeats;
}

bool TakenValue::choose(double value, bool chosen) {
  if (chosen) one_ = value;
  return chosen;
}

void TakenValue::keep(double value) {
  if ((chosen_from() - 1) % stride_ != 0) return;
  all_.push_back(value);
  if (all_.size() < kMostKept) return;
  for (std::size_t i = 0; 2 * i < all_.size(); ++i) all_[i] = all_[2 * i];
  all_.resize(kMostKept / 2);
  stride_ *= 2;
}

bool TakenValue::add_text() {
  if (take_.kind != Kind::count) return false;
  ++texts_;
  ++seen_;
  return true;
}

void TakenValue::add_not_finite() {
  if (take_.kind == Kind::last) one_ = std::numeric_limits<double>::quiet_NaN();
  if (seen_ == skip_) first_is_not_finite_ = true;
}

std::optional<double> TakenValue::value() {
  const long long n = chosen_from();
  if (n == 0 || (take_.kind == Kind::first && first_is_not_finite_)) return std::nullopt;
  double result = one_;
  if (take_.kind == Kind::sum) result = static_cast<double>(sum_);
  if (take_.kind == Kind::mean) result = static_cast<double>(sum_ / static_cast<long double>(n));
  if (take_.kind == Kind::count) result = static_cast<double>(n);
  if (take_.kind == Kind::quantile) {
    std::sort(all_.begin(), all_.end());
    result = quantile(all_, take_.p);
  }
  return std::isfinite(result) ? std::optional(result) : std::nullopt;
}

}  // namespace hpcbench
