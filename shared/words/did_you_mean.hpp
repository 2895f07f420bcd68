#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// Returns the candidate closest to a misspelt word: at most 2 insertions, deletions, replacements and swaps of neighbours away
/// (1 for words of up to 5 bytes), or one that begins with a word of at least 4 bytes. The first of equals; nullopt if none is
/// near.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// Returns ` (did you mean `nodes`?)`, or an empty text.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace hpcbench
