#include "files/shard_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "files/content_hash.hpp"

namespace hpcbench::train {

namespace {

constexpr std::string_view kRankPart = "-rank-";
constexpr std::int64_t kMostSaves = 1'000'000'000'000'000;  // the trainer writes no greater number

/// Reads a shard from beginning to end, through a buffer: a mapping would count as memory of this process.
class ReadShard {
 public:
  explicit ReadShard(const std::filesystem::path& path)
      : path_(path), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) fail();
  }
  ~ReadShard() { close(descriptor_); }
  ReadShard(const ReadShard&) = delete;
  ReadShard& operator=(const ReadShard&) = delete;
  /// Returns the next bytes; none at the end.
  std::span<const std::byte> next() {
    while (true) {
      const ssize_t count = read(descriptor_, buffer_.data(), buffer_.size());
      if (count >= 0) return std::span(buffer_).first(static_cast<std::size_t>(count));
      if (errno != EINTR) fail();
    }
  }

 private:
  [[noreturn]] void fail() const { throw DataError(concat("error: cannot read ", path_.string(), ": ", std::strerror(errno))); }

  const std::filesystem::path& path_;
  int descriptor_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(std::size_t{1} << 20);
};

/// Returns the number of the save if the name is that of a shard or of an unfinished one.
std::optional<std::int64_t> save_of(const std::string& name) {
  std::int64_t save = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), save);
  if (error != std::errc() || save < 1 || save > kMostSaves) return std::nullopt;
  const std::string_view rest = std::string_view(name).substr(static_cast<std::size_t>(end - name.data()));
  const bool is_shard = rest.substr(0, kRankPart.size()) == kRankPart && rest.find(".safetensors") != std::string_view::npos;
  return is_shard ? std::optional(save) : std::nullopt;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator place(folder, error), end; !error && place != end; place.increment(error))
    names.push_back(place->path().filename().string());
  return names;
}

}  // namespace

std::string shard_name(std::int64_t save, int number, int of) {
  return concat(save, kRankPart, number, "of", of, ".safetensors");
}

ShardEntry describe_shard(const std::filesystem::path& path) {
  ReadShard file(path);
  ContentHash hash;
  ShardEntry entry{path.filename().string(), 0, {}};
  for (std::span<const std::byte> bytes = file.next(); !bytes.empty(); bytes = file.next()) {
    hash.add(bytes);
    entry.bytes += bytes.size();
  }
  entry.xxh3 = hex_of(hash.digest());
  return entry;
}

void check_shard(const std::filesystem::path& path, const ShardEntry& entry) {
  const ShardEntry found = describe_shard(path);
  if (found.bytes != entry.bytes) {
    throw DataError(concat("error: ", path.string(), " has ", found.bytes, " bytes, but the checkpoint was written with ",
                           entry.bytes, ": it was cut off, or is of another checkpoint"));
  }
  if (found.xxh3 != entry.xxh3) {
    throw DataError(concat("error: ", path.string(), " is damaged, or of another checkpoint: its XXH3 is ", found.xxh3,
                           ", not ", entry.xxh3));
  }
}

std::int64_t last_save(const std::filesystem::path& folder) {
  std::int64_t last = 0;
  for (const std::string& name : names_in(folder)) last = std::max(last, save_of(name).value_or(0));
  return last;
}

void remove_shards(const std::filesystem::path& folder, const std::vector<ShardEntry>& kept) {
  std::error_code error;
  for (const std::string& name : names_in(folder)) {
    const bool stays = std::any_of(kept.begin(), kept.end(), [&](const ShardEntry& entry) { return entry.file == name; });
    if (!stays && save_of(name)) std::filesystem::remove(folder / name, error);
  }
  std::filesystem::remove(folder, error);  // only if it is empty
}

}  // namespace hpcbench::train
