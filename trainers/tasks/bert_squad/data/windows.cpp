#include "tasks/bert_squad/data/windows.hpp"

#include <algorithm>

namespace hpcbench::train {

std::vector<TokenWindow> context_windows(std::int32_t tokens, std::int32_t room, std::int32_t stride) {
  std::vector<TokenWindow> windows;
  std::int32_t begin = 0;
  while (true) {
    const std::int32_t end = tokens - begin > room ? begin + room : tokens;
    windows.push_back({begin, end});
    if (end == tokens) return windows;
    begin += room - stride;
  }
}

AnswerPosition answer_position(std::span<const TokenOffset> offsets, std::int32_t context_begin, std::int64_t begin,
                               std::int64_t end) {
  const auto size = static_cast<std::int32_t>(offsets.size());
  const auto at = [&](std::int32_t token) { return offsets[static_cast<std::size_t>(token)]; };
  std::int32_t first = context_begin;
  std::int32_t last = size - 2;
  if (first > last || at(first).begin > begin || at(last).end < end) return {};
  while (first < size && at(first).begin <= begin) ++first;
  while (at(last).end >= end) --last;  // stops at the [SEP] before the context at the latest
  return {first - 1, last + 1};
}

}  // namespace hpcbench::train
