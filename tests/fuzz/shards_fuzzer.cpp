// libFuzzer entry: any bytes are the list of shards of a checkpoint, and the name of a piece in one. Both are read, with names
// that stay in their folder and that are written back unchanged, or refused with a DataError whose text is short; everything
// else is a finding.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "files/shard_index.hpp"

namespace {

using namespace hpcbench::train;

void require_that(bool holds) {
  if (!holds) std::abort();
}

template <class Read>
void read_or_refuse(const Read& read) {
  constexpr std::size_t kLongestError = 200;
  try {
    read();
  } catch (const DataError& error) {
    const std::string_view what = error.what();
    require_that(what.substr(0, 12) == "error: file " && what.size() < kLongestError);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_or_refuse([&] {
    const std::vector<ShardEntry> entries = parse_shard_index(text, "file");
    for (const ShardEntry& entry : entries) require_that(!entry.file.empty() && entry.file.find('/') == std::string::npos);
    require_that(parse_shard_index(shard_index_text(entries), "file").size() == entries.size());
  });
  read_or_refuse([&] {
    const PieceName piece = parse_piece_name(text, "file");
    require_that(piece.begin >= 0 && parse_piece_name(to_string(piece), "file").tensor == piece.tensor);
  });
  return 0;
}
