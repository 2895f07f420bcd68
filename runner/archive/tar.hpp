#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hpcbench {

/// POSIX tar (ustar, with pax records for long paths and large sizes), as far as an
/// archive of results needs it: plain files, sorted by the caller, without owner
/// and time, so that the same files give the same bytes. Every tar program can read
/// it.
constexpr std::size_t kTarBlock = 512;
using TarBlock = std::array<char, kTarBlock>;

struct TarEntry {
  std::string path;
  std::uint64_t size = 0;
  bool executable = false;
};

/// Returns the blocks before a file's bytes: its header, preceded by a pax header if the path has over 100 bytes or the file
/// over 8 GiB.
std::string tar_header(const TarEntry& entry);
/// Returns how many zeros follow `size` bytes of content.
std::size_t tar_padding(std::uint64_t size);
/// Returns the two blocks at the end.
std::string tar_end();

/// A header block that was read.
struct TarHeader {
  bool is_end = false;  // a block of zeros
  char type = '0';      // `0`: a file; `x`: pax records of the next entry;
                        // the caller refuses all others
  std::string path;     // prefix and name
  std::uint64_t size = 0;
  bool executable = false;
};

/// Reads a header block. Total; InputError if the checksum, a number or the format is
/// wrong.
TarHeader read_tar_header(const TarBlock& block);
/// Applies pax records (`17 path=a/b\n`): path and size; ignores other keys. InputError if they are
/// malformed.
void apply_pax_records(std::string_view records, TarHeader& header);

/// Returns why a path must not be unpacked: absolute, `..`, empty parts, control characters, over 1,000 bytes, parts of over
/// 255; empty if it may be.
std::string why_unsafe(std::string_view path);

}  // namespace hpcbench
