#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// The candidate that a misspelt word was meant to be: at most 2 insertions, deletions, replacements and swaps of neighbours
/// away (1 for words of up to 5 bytes), or one that a word of 4 bytes or more begins. The first of equals; absent if none is
/// near.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// ` (did you mean `nodes`?)`, or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace hpcbench
