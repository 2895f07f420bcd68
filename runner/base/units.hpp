#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hpcbench {

/// Returns the factor that converts values in `from` to values in `to`: 0.001 for `MB/s` to `GB/s`. Other spellings of one unit
/// (`tokens / sec`, `token/s`) have the factor 1. nullopt if the units measure different things or their ratio is unknown:
/// `days/ns` and `ns/day`, `GB/s` and `it/s`.
std::optional<double> unit_factor(const std::string& from, const std::string& to);

/// Returns whether `unit` is a unit, or a quotient of units, whose multiples unit_factor knows: `ms`, `GB/s`; not `epoch`.
bool is_known_unit(const std::string& unit);

/// The meaning of one word of a unit, between its slashes, in any letter case that leaves one meaning.
struct WordOfUnit {
  bool is_time = false;
  bool is_wall_time = false;  // from a second to a day: below a `/` it makes a rate
  std::string counted = {};   // `gpus`, `ranks`, `nodes`, `cores`; empty for all else
};
WordOfUnit word_of_unit(std::string_view text);

/// Returns whether `unit` is a time, or a time per something: `ms`, `s/step`. Such values are never negative.
bool is_unit_of_time(std::string_view unit);

/// Returns advice for a unit that is known in another letter case: "`MB/s` or `Mbit/s`" for `mb/s`. Empty for others.
std::string other_spelling_of_unit(const std::string& unit);

/// Returns whether `unit` is a quotient of units that unit_factor knows, such as `days/ns`: no other text looks like it.
bool is_known_quotient(const std::string& unit);

}  // namespace hpcbench
