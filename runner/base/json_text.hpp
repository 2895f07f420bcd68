#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.hpp"

namespace hpcbench {

// JSON (RFC 8259) read in place: a value is the piece of text that spells it. The run directory is read this way, not through a
// document tree, because numbers must keep their spelling (axes), because Python's json writes NaN and Infinity for a diverged
// loss, and because event files have a million lines. Every function is total. Nesting deeper than 64 counts as not JSON.

/// One member of an object: its key between the quotes, escapes as they stand, and the text of its value.
struct JsonMember {
  std::string_view key;
  std::string_view value;
};
using JsonMembers = std::vector<JsonMember>;

/// True if `text` is one valid JSON value (or NaN, Infinity, -Infinity), blanks around it allowed.
bool is_json(std::string_view text);

/// Where a text stops being JSON: the offset of what should not be there, its size if it ends too early; absent if it is JSON.
std::optional<std::size_t> json_error_offset(std::string_view text);

/// The members of an object, in the order of the text. False (and nothing in `members`) if `text` is no valid object.
bool scan_object(std::string_view text, JsonMembers& members);
/// The elements of an array; absent if `text` is no valid array.
std::optional<std::vector<std::string_view>> scan_array(std::string_view text);

/// The text of the last member with this key; empty if there is none.
std::string_view find_member(const JsonMembers& members, std::string_view key);

/// A finite number; absent for all else: text, null, NaN, 1e999.
std::optional<double> json_number(std::string_view value);
/// An integer that fits, also spelled 3.0 or 3e0.
std::optional<long long> json_integer(std::string_view value);
/// A string, as well-formed UTF-8: invalid bytes become U+FFFD.
std::optional<std::string> json_string(std::string_view value);
/// The name of a member, without escapes.
std::string json_member_name(const JsonMember& member);
/// The strings of an object; other members are left out.
std::map<std::string, std::string> read_texts_object(std::string_view object);
std::optional<bool> json_flag(std::string_view value);
/// The scalar that a JSON pointer (RFC 6901) without `*` names, as json_scalar_text; absent if there is none.
std::optional<std::string> json_text_at(std::string_view value, std::string_view pointer);
/// The tokens of a JSON pointer; absent for a text that is none.
std::optional<std::vector<std::string>> json_pointer_tokens(std::string_view pointer);
/// `0`, `17`: an index of an array, without leading zeros.
std::optional<std::size_t> json_array_index(std::string_view token);
/// Whether a token `[name=solve]` selects an element of an array: an object whose member `name` is the scalar `solve`.
bool json_token_selects(std::string_view token, std::string_view element);
/// All values that a JSON pointer names in which `*` stands for every element or member, and `[name=solve]` for the elements of
/// an array that it selects.
std::vector<std::string_view> json_values_at(std::string_view value, std::string_view pointer);
/// A scalar as a person reads it: strings without their quotes, numbers as spelled; absent for null, objects and arrays.
std::optional<std::string> json_scalar_text(std::string_view value);

/// An object of scalars as bindings, in its order; numbers keep their spelling. Members that are no scalars are left out.
Bindings json_bindings(std::string_view object);
/// The inverse: `{"lr":5e-5,"strategy":"ddp"}`.
std::string bindings_json(const Bindings& bindings);

}  // namespace hpcbench
