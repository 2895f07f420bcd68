#include "archive/tar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

// Fields of a header block (POSIX.1-1988, ustar).
struct TarField {
  std::size_t offset, length;
};
constexpr TarField kTarName{0, 100};
constexpr TarField kTarMode{100, 8};
constexpr TarField kTarOwner{108, 8};
constexpr TarField kTarGroup{116, 8};
constexpr TarField kTarSize{124, 12};
constexpr TarField kTarTime{136, 12};
constexpr TarField kTarChecksum{148, 8};
constexpr TarField kTarType{156, 1};
constexpr TarField kTarMagic{257, 8};
constexpr TarField kTarPrefix{345, 155};
constexpr std::uint64_t kTarMostInHeader = (1ULL << 33U) - 1;  // eleven octal digits

void put_text(TarBlock& block, TarField field, std::string_view text) {
  std::copy_n(text.begin(), std::min(text.size(), field.length), block.begin() + static_cast<std::ptrdiff_t>(field.offset));
}

void put_octal(TarBlock& block, TarField field, std::uint64_t number) {
  put_text(block, field, fmt::format("{:0{}o}", number, field.length - 1));
}

/// Returns the sum of all bytes, with the checksum itself counted as blanks.
unsigned tar_checksum(TarBlock block) {
  std::fill_n(block.begin() + kTarChecksum.offset, kTarChecksum.length, ' ');
  unsigned sum = 0;
  for (const char byte : block) sum += static_cast<unsigned char>(byte);
  return sum;
}

std::string header_block(const std::string& path, std::uint64_t size, char type, bool executable) {
  TarBlock block{};
  put_text(block, kTarName, path);
  put_octal(block, kTarMode, executable ? 0755 : 0644);
  put_octal(block, kTarOwner, 0);
  put_octal(block, kTarGroup, 0);
  put_octal(block, kTarSize, size);
  put_octal(block, kTarTime, 0);
  put_text(block, kTarType, std::string_view(&type, 1));
  put_text(block, kTarMagic, std::string_view("ustar\00000", 8));
  put_text(block, kTarChecksum, fmt::format("{:06o}", tar_checksum(block)) + std::string("\0 ", 2));
  return {block.begin(), block.end()};
}

/// Returns a pax record `LENGTH key=value\n`, whose LENGTH counts itself.
std::string pax_record(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (std::to_string(length).size() + rest != length) ++length;
  return fmt::format("{} {}={}\n", length, key, value);
}

std::string_view text_of(const TarBlock& block, TarField field) {
  const std::string_view whole(block.data() + field.offset, field.length);
  return whole.substr(0, whole.find('\0'));
}

std::uint64_t octal_of(const TarBlock& block, TarField field) {
  const std::string_view digits = trim(text_of(block, field));
  std::uint64_t number = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number, 8);
  if (digits.empty() || read.ec != std::errc() || read.ptr != digits.data() + digits.size()) {
    throw InputError(
        "error: not an archive of hpcbench: a tar header has no "
        "number where one must be");
  }
  return number;
}

InputError bad_pax() { return InputError{"error: not an archive of hpcbench: a pax header is malformed"}; }

}  // namespace

std::string tar_header(const TarEntry& entry) {
  std::string records;
  if (entry.path.size() > kTarName.length) records += pax_record("path", entry.path);
  if (entry.size > kTarMostInHeader) records += pax_record("size", std::to_string(entry.size));
  std::string blocks;
  if (!records.empty()) {
    blocks = header_block("pax", records.size(), 'x', false) + records + std::string(tar_padding(records.size()), '\0');
  }
  return blocks + header_block(entry.path, entry.size > kTarMostInHeader ? 0 : entry.size, '0', entry.executable);
}

std::size_t tar_padding(std::uint64_t size) { return static_cast<std::size_t>((kTarBlock - size % kTarBlock) % kTarBlock); }

std::string tar_end() { return std::string(2 * kTarBlock, '\0'); }

TarHeader read_tar_header(const TarBlock& block) {
  TarHeader header;
  header.is_end = std::all_of(block.begin(), block.end(), [](char byte) { return byte == '\0'; });
  if (header.is_end) return header;
  if (octal_of(block, kTarChecksum) != tar_checksum(block)) {
    throw InputError(
        "error: not an archive of hpcbench: the checksum of a tar "
        "header is wrong");
  }
  const std::string_view prefix = text_of(block, kTarPrefix);
  header.path = prefix.empty() ? std::string(text_of(block, kTarName)) : fmt::format("{}/{}", prefix, text_of(block, kTarName));
  header.type = block[kTarType.offset] == '\0' ? '0' : block[kTarType.offset];
  header.size = octal_of(block, kTarSize);
  header.executable = (octal_of(block, kTarMode) & 0100U) != 0;
  return header;
}

void apply_pax_records(std::string_view records, TarHeader& header) {
  while (!records.empty()) {
    std::size_t length = 0;
    const auto read = std::from_chars(records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(read.ptr - records.data());
    if (read.ec != std::errc() || length > records.size() || length < digits + 3 || records[digits] != ' ' ||
        records[length - 1] != '\n') {
      throw bad_pax();
    }
    const std::string_view record = records.substr(digits + 1, length - digits - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) throw bad_pax();
    const std::string_view value = record.substr(equals + 1);
    if (record.substr(0, equals) == "path") header.path = value;
    if (record.substr(0, equals) == "size") {
      const auto number = std::from_chars(value.data(), value.data() + value.size(), header.size);
      if (number.ec != std::errc() || number.ptr != value.data() + value.size()) throw bad_pax();
    }
    records.remove_prefix(length);
  }
}

std::string why_unsafe(std::string_view path) {
  constexpr std::size_t kLongest = 1000;
  constexpr std::size_t kLongestName = 255;  // of a file, on every Linux
  if (path.empty()) return "its path is empty";
  if (path.size() > kLongest) return "its path is too long";
  if (path.front() == '/') return "its path is absolute";
  const bool control =
      std::any_of(path.begin(), path.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (control) return "its path has control characters";
  for (const std::string& part : split(path, '/')) {
    if (part == "..") return "its path leads out of the archive";
    if (part.size() > kLongestName) return "a part of its path is too long";
    if (part.empty() || part == ".") return "its path has empty parts";
  }
  return "";
}

}  // namespace hpcbench
