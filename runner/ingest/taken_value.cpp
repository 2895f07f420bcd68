#include "ingest/taken_value.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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
