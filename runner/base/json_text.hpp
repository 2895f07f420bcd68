#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.hpp"

namespace hpcbench {

// Reads JSON (RFC 8259) in place: a value is the piece of text that spells it. The run directory is read this way, because
// numbers must keep their spelling (axes), Python's json writes NaN and Infinity for a diverged loss, and event files have a
// million lines. Every function is total. Nesting deeper than 64 counts as not JSON.

/// One member of an object: its key between the quotes, with escapes unchanged, and the text of its value.
struct JsonMember {
  std::string_view key;
  std::string_view value;
};
using JsonMembers = std::vector<JsonMember>;

/// Returns true if `text` is one valid JSON value (or NaN, Infinity, -Infinity); blanks around it are allowed.
bool is_json(std::string_view text);

/// Returns the offset of the first byte that is invalid JSON, or the size of a text that ends too early; nullopt if it is JSON.
std::optional<std::size_t> json_error_offset(std::string_view text);

/// Reads the members of an object, in order. Returns false and leaves `members` empty if `text` is no valid object.
bool scan_object(std::string_view text, JsonMembers& members);
/// Returns the elements of an array; nullopt if `text` is no valid array.
std::optional<std::vector<std::string_view>> scan_array(std::string_view text);

/// Returns the text of the last member with this key; empty if there is none.
std::string_view find_member(const JsonMembers& members, std::string_view key);

/// Returns a finite number; nullopt for anything else: text, null, NaN, 1e999.
std::optional<double> json_number(std::string_view value);
/// Returns an integer that fits, including the spellings 3.0 and 3e0.
std::optional<long long> json_integer(std::string_view value);
/// Returns a string, as well-formed UTF-8: invalid bytes become U+FFFD.
std::optional<std::string> json_string(std::string_view value);
/// Returns the name of a member, without escapes.
std::string json_member_name(const JsonMember& member);
/// Returns the strings of an object; other members are left out.
std::map<std::string, std::string> read_texts_object(std::string_view object);
std::optional<bool> json_flag(std::string_view value);
/// Returns the scalar at a JSON pointer (RFC 6901) without `*`, as json_scalar_text; nullopt if it does not exist.
std::optional<std::string> json_text_at(std::string_view value, std::string_view pointer);
/// Returns a member's name as a token of a JSON pointer: `a~1b` for `a/b`.
std::string json_pointer_token(std::string_view name);
/// Returns the tokens of a JSON pointer; nullopt if the text is not a pointer.
std::optional<std::vector<std::string>> json_pointer_tokens(std::string_view pointer);
/// Returns an index of an array: `0`, `17`, without leading zeros.
std::optional<std::size_t> json_array_index(std::string_view token);
/// Returns whether a token `[name=solve]` selects an element of an array: an object whose member `name` is the scalar `solve`.
bool json_token_selects(std::string_view token, std::string_view element);
/// Returns all values at a JSON pointer, in which `*` means every element or member, and `[name=solve]` the selected elements
/// of an array.
std::vector<std::string_view> json_values_at(std::string_view value, std::string_view pointer);
/// Returns a scalar as people read it: strings without quotes, numbers as spelled; nullopt for null, objects and arrays.
std::optional<std::string> json_scalar_text(std::string_view value);

/// Returns an object of scalars as bindings, in its order; numbers keep their spelling. Other members are left out.
Bindings json_bindings(std::string_view object);
/// Returns the inverse: `{"lr":5e-5,"strategy":"ddp"}`.
std::string bindings_json(const Bindings& bindings);

}  // namespace hpcbench
