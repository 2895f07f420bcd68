#pragma once

#include <string_view>

namespace hpcbench {

/// The mark that some editors and spreadsheets write before UTF-8 text; not part of the text.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace hpcbench
