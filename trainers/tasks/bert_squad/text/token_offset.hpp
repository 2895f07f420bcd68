#pragma once

#include <cstdint>

namespace hpcbench::train {

/// The place of a token in its text: code points [begin, end), of the question without leading white space or of the context;
/// {0, 0} for [CLS] and [SEP].
struct TokenOffset {
  std::int32_t begin = 0;
  std::int32_t end = 0;

  bool operator==(const TokenOffset&) const = default;
};

}  // namespace hpcbench::train
