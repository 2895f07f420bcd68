// libFuzzer entry: no archive, whatever its bytes, writes outside the folder in which it is unpacked, leaves anything behind if
// it is refused, or fails with anything but InputError or UnavailableError. The first byte selects the kind of the rest: a tar
// file (`t`: its header checksums are corrected first, or nothing would pass them), a zstd file (`z`), pax records (`p`) or a
// path (`u`).
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "../fakes/temporary_folder.hpp"
#include "archive/archive.hpp"
#include "archive/tar.hpp"
#include "base/error.hpp"
#include "base/files.hpp"

namespace {

using namespace hpcbench;
namespace fs = std::filesystem;

void require(bool holds) {
  if (!holds) std::abort();
}

void right_checksums(std::string& tar) {
  constexpr std::size_t kAt = 148;
  constexpr std::size_t kLength = 8;
  for (std::size_t start = 0; start + kTarBlock <= tar.size(); start += kTarBlock) {
    if (tar.compare(start + 257, 5, "ustar") != 0) continue;
    std::fill_n(tar.begin() + static_cast<std::ptrdiff_t>(start + kAt), kLength, ' ');
    unsigned sum = 0;
    for (std::size_t i = start; i < start + kTarBlock; ++i) sum += static_cast<unsigned char>(tar[i]);
    std::array<char, kLength> digits{};
    std::snprintf(digits.data(), digits.size(), "%06o", sum);
    std::copy(digits.begin(), digits.end() - 1, tar.begin() + static_cast<std::ptrdiff_t>(start + kAt));
  }
}

std::string squeezed(const std::string& plain) {
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), 1));
  return packed;
}

void check_archive(const std::string& bytes) {
  static const TemporaryFolder workshop;  // one for all inputs, removed at the end of the program
  const fs::path archive = workshop.path() / "a.tar.zst";
  const fs::path folder = workshop.path() / "out";
  write_file(archive.string(), bytes, Durability::none);
  constexpr std::uint64_t kMost = 1U << 20U;
  bool unpacked = false;
  try {
    const ArchiveHead head = unpack_archive(archive.string(), folder.string(), kMost);
    require(head.bytes <= kMost);
    unpacked = true;
  } catch (const InputError&) {
  } catch (const UnavailableError&) {
  }
  require(fs::exists(folder) == unpacked);
  for (const auto& entry : fs::directory_iterator(workshop.path())) require(entry.path() == archive || entry.path() == folder);
  if (!unpacked) return;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    require(!entry.is_symlink() && (entry.is_directory() || entry.is_regular_file()));
  }
  fs::remove_all(folder);
}

void check_pax(std::string_view records) {
  TarHeader header;
  try {
    apply_pax_records(records, header);
  } catch (const InputError&) {
  }
}

/// An accepted path stays below the folder in every interpretation.
void check_path(std::string_view path) {
  if (!why_unsafe(path).empty()) return;
  const fs::path whole = (fs::path("/folder") / path).lexically_normal();
  require(whole.string() == "/folder/" + std::string(path));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string text(rest);
  switch (data[0]) {
    case 't':
      right_checksums(text);
      check_archive(squeezed(text));
      break;
    case 'z':
      check_archive(text);
      break;
    case 'p':
      check_pax(rest);
      break;
    default:
      check_path(rest);
      break;
  }
  return 0;
}
