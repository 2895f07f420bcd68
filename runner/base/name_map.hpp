#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hpcbench {

/// Values by name, sorted by name like a std::map, but stored side by side: a record has only a few metrics and facts, and
/// among a million records the nodes of trees would take most of the memory, and following them most of the time. Adding a name
/// that sorts before others moves these.
template <class T>
class NameMap {
 public:
  using value_type = std::pair<std::string, T>;
  using iterator = typename std::vector<value_type>::iterator;
  using const_iterator = typename std::vector<value_type>::const_iterator;

  NameMap() = default;
  NameMap(std::initializer_list<value_type> list) {
    for (const value_type& each : list) emplace(each.first, each.second);
  }
  NameMap(const std::map<std::string, T>& map) : sorted_(map.begin(), map.end()) {}  // NOLINT(*-explicit-*): the same values

  iterator begin() { return sorted_.begin(); }
  iterator end() { return sorted_.end(); }
  const_iterator begin() const { return sorted_.begin(); }
  const_iterator end() const { return sorted_.end(); }
  std::size_t size() const { return sorted_.size(); }
  bool empty() const { return sorted_.empty(); }
  void reserve(std::size_t size) { sorted_.reserve(size); }

  /// Returns the first name that does not sort before this one.
  const_iterator lower_bound(std::string_view name) const { return std::lower_bound(begin(), end(), name, is_before); }
  /// Compares one by one: of so few names, most already differ in size.
  const_iterator find(std::string_view name) const {
    return std::find_if(begin(), end(), [&](const value_type& each) { return each.first == name; });
  }
  bool contains(std::string_view name) const { return find(name) != end(); }
  std::size_t count(std::string_view name) const { return contains(name) ? 1 : 0; }
  const T& at(std::string_view name) const {
    const const_iterator found = find(name);
    if (found == end()) throw std::out_of_range(std::string(name));
    return found->second;
  }

  /// Adds the value unless the name has one. Returns the place of the name, and whether the value was added.
  template <class Given>
  std::pair<iterator, bool> emplace(std::string name, Given&& value) {
    const iterator place = place_of(name);
    if (place != end() && place->first == name) return {place, false};
    return {sorted_.emplace(place, std::move(name), std::forward<Given>(value)), true};
  }
  T& operator[](std::string_view name) {
    const iterator place = place_of(name);
    if (place != end() && place->first == name) return place->second;
    return sorted_.emplace(place, std::string(name), T())->second;
  }
  void erase(std::string_view name) {
    erase_if([&](const value_type& each) { return each.first == name; });
  }
  template <class Unwanted>
  void erase_if(const Unwanted& unwanted) {
    std::erase_if(sorted_, unwanted);
  }

  friend bool operator==(const NameMap& a, const NameMap& b) { return a.sorted_ == b.sorted_; }

 private:
  static bool is_before(const value_type& each, std::string_view name) { return each.first < name; }
  /// Checks the last name first: names are mostly added in order.
  iterator place_of(std::string_view name) {
    if (sorted_.empty() || sorted_.back().first < name) return end();
    return std::lower_bound(begin(), end(), name, is_before);
  }

  std::vector<value_type> sorted_;
};

}  // namespace hpcbench
