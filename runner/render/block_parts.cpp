#include "render/block_parts.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace hpcbench {

namespace {

using Members = std::vector<std::size_t>;

/// Fills parts first fit: each unit goes to the first part that has room for it.
class Parts {
 public:
  Parts(const std::vector<PartMember>& members, double room_s) : members_(members), room_s_(room_s) {}

  double needed_by(const Members& unit) const {
    return std::accumulate(unit.begin(), unit.end(), 0.0,
                           [&](double sum, std::size_t i) { return sum + members_[i].needed_s; });
  }

  /// From part `first` on; returns the part that took it.
  std::size_t take(const Members& unit, std::size_t first) {
    const double needed_s = needed_by(unit);
    while (first < parts_.size() && used_s_[first] + needed_s > room_s_) ++first;
    if (first == parts_.size()) {
      parts_.emplace_back();
      used_s_.push_back(0);
    }
    parts_[first].insert(parts_[first].end(), unit.begin(), unit.end());
    used_s_[first] += needed_s;
    return first;
  }

  std::size_t size() const { return parts_.size(); }

  std::vector<Members> finish() {
    for (Members& part : parts_) std::sort(part.begin(), part.end());
    return std::move(parts_);
  }

 private:
  const std::vector<PartMember>& members_;
  double room_s_;
  std::vector<Members> parts_;
  std::vector<double> used_s_;
};

}  // namespace

std::vector<std::vector<std::size_t>> split_block(const std::vector<PartMember>& members, double room_s) {
  Members order(members.size());
  std::iota(order.begin(), order.end(), 0);
  // The order of running is another in every block.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return members[a].configuration < members[b].configuration; });
  std::map<std::size_t, Members> families;  // by baseline
  for (const std::size_t i : order) {
    Members& family = families[members[i].baseline];
    const bool leads = members[i].configuration == members[i].baseline;
    family.insert(leads ? family.begin() : family.end(), i);
  }
  Parts parts(members, room_s);
  for (const auto& [baseline, family] : families) {
    if (parts.needed_by(family) <= room_s) {
      parts.take(family, 0);
      continue;
    }
    const std::size_t first = parts.size();
    for (const std::size_t i : family) parts.take({i}, first);
  }
  return parts.finish();
}

}  // namespace hpcbench
