#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpcbench::train {

/// Returns the words of an answer (UTF-8) as the official evaluation scripts compare them: lower case, ASCII punctuation
/// removed, the words a, an and the removed, split at white space. Characters are classified like in Python's str.lower, re's
/// \b and str.split. Two answers are an exact match if their words are equal. Source: normalize_answer of evaluate-v1.1.py and
/// evaluate-v2.0.py.
std::vector<std::u32string> answer_words(std::string_view text);

}  // namespace hpcbench::train
