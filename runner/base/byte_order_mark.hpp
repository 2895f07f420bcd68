#pragma once

#include <string_view>

namespace hpcbench {

/// What some editors and spreadsheets put before UTF-8: no part of the text.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace hpcbench
