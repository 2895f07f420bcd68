#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/run_name.hpp"
#include "base/text.hpp"

namespace hpcbench {

/// Returns the elements in the order of their keys, those of equal keys in the order of the list. `key_of` gives an element's
/// AttemptKey by reference. Sorts the first bytes of the keys, which lie side by side, and follows them only where they are
/// equal: of many runs the keys themselves no longer fit into the caches.
template <class Element, class KeyOf>
std::vector<const Element*> in_key_order(const std::vector<Element>& elements, const KeyOf& key_of) {
  std::vector<std::pair<std::uint64_t, const Element*>> leading;
  leading.reserve(elements.size());
  for (const Element& element : elements) leading.emplace_back(leading_bytes(key_of(element).config_id), &element);
  std::stable_sort(leading.begin(), leading.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : key_of(*a.second) < key_of(*b.second);
  });
  std::vector<const Element*> sorted;
  sorted.reserve(leading.size());
  for (const auto& each : leading) sorted.push_back(each.second);
  return sorted;
}

}  // namespace hpcbench
