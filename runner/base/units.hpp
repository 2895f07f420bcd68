#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hpcbench {

/// By which number values in `from` are multiplied to be values in `to`: 0.001 for `MB/s` and `GB/s`. Other spellings of one
/// unit (`tokens / sec`, `token/s`) have the factor 1. Absent where the units are of different things, or unknown multiples:
/// `days/ns` and `ns/day`, `GB/s` and `it/s`.
std::optional<double> unit_factor(const std::string& from, const std::string& to);

/// A unit, or a quotient of units, whose multiples unit_factor knows: `ms`, `GB/s`; not `epoch`.
bool is_known_unit(const std::string& unit);

/// The meaning of one word of a unit, between its slashes, in any case of letters that leaves one meaning.
struct WordOfUnit {
  bool is_time = false;
  bool is_wall_time = false;  // from a second to a day: below a `/` it makes a rate
  std::string counted = {};   // `gpus`, `ranks`, `nodes`, `cores`; empty for all else
};
WordOfUnit word_of_unit(std::string_view text);

/// A time, or one of something: `ms`, `s/step`. Its values are never negative.
bool is_unit_of_time(std::string_view unit);

/// For an unknown unit that other letters make a known one: "`MB/s` or `Mbit/s`" for `mb/s`. Empty for all others.
std::string other_spelling_of_unit(const std::string& unit);

/// A quotient of units that unit_factor knows, as `days/ns`: no other text looks like it.
bool is_known_quotient(const std::string& unit);

}  // namespace hpcbench
