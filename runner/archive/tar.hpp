#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hpcbench {

/// POSIX tar (ustar, with pax records for what does not fit), as far as an
/// archive of results needs it: plain files, sorted by whoever writes them,
/// with no owner and no time, so that the same files give the same bytes. Any
/// tar reads it.
constexpr std::size_t kTarBlock = 512;
using TarBlock = std::array<char, kTarBlock>;

struct TarEntry {
  std::string path;
  std::uint64_t size = 0;
  bool executable = false;
};

/// The blocks that stand before a file's bytes: its header, before that a pax
/// header where the path has over 100 bytes or the file over 8 GiB.
std::string tar_header(const TarEntry& entry);
/// How many zeros follow `size` bytes of content.
std::size_t tar_padding(std::uint64_t size);
/// The two blocks at the end.
std::string tar_end();

/// One header block as it was read.
struct TarHeader {
  bool is_end = false;  // a block of zeros
  char type = '0';      // `0`: a file; `x`: pax records of the next entry; all else
                        // is for the caller to refuse
  std::string path;     // prefix and name
  std::uint64_t size = 0;
  bool executable = false;
};

/// Total; throws InputError where the checksum, a number or the format is
/// wrong.
TarHeader read_tar_header(const TarBlock& block);
/// Applies pax records (`17 path=a/b\n`): path and size; other keys are passed
/// over. InputError if they are malformed.
void apply_pax_records(std::string_view records, TarHeader& header);

/// Why a path must not be unpacked: absolute, `..`, empty parts, control
/// characters, over 1,000 bytes, parts of over 255; empty if it may.
std::string why_unsafe(std::string_view path);

}  // namespace hpcbench
