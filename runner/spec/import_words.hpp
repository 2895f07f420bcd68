#pragma once

namespace hpcbench {

/// Stands in `is: {...}` for all words of a program that it does not name.
inline constexpr const char* kOtherWords = "*";
/// Stands between a heading and the pattern of the part of its cells that counts: `{column: HEADING, pattern: RE}`.
inline constexpr char kPatternMark = '\n';

}  // namespace hpcbench
