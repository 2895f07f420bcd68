#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hpcbench {

/// Beside attempts.txt of a batch of blocks: a line for each block, `FIRST COUNT`: the number of its first line there, from 0,
/// and of its lines.
inline constexpr const char* kBlocksFile = "blocks.txt";

/// Beside the claim of a block that has runs of different numbers of nodes: its nodes, a line each, in the order that was
/// drawn.
inline constexpr const char* kDrawnNodes = "nodes.txt";

/// Beside attempts.txt of such a batch: why its runs cannot go on side by side. From then on none of them is begun.
inline constexpr const char* kRefusedFile = "refused.txt";

struct BlockLines {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Total: what is no such line ends the list, so that no block gets another's number.
std::vector<BlockLines> parse_blocks(std::string_view text);
/// The text for blocks of these sizes.
std::string blocks_text(const std::vector<std::size_t>& sizes);

/// The element of its array that each attempt of a batch is in, by its line in attempts.txt; without blocks its own.
std::map<std::string, int> elements_of(const std::string& attempts_text, const std::optional<std::string>& blocks_text);

/// Where the claim of a block stands, as that of an attempt in its folder (claim.hpp): made by whoever claims it.
std::string block_folder(const std::string& batch_folder, std::size_t index);

/// Whether its job has claimed a block of which the job has ended, or is not known: hpcbench wins its claim (`revoked WHY`), or
/// the job has it. From then on the answer stays.
bool block_has_begun(const std::string& batch_folder, std::size_t index, const std::string& why);

}  // namespace hpcbench
