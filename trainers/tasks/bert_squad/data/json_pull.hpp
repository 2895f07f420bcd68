#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "files/content_hash.hpp"

namespace hpcbench::train {

/// Reads a JSON file (RFC 8259) piece by piece as the caller requests, in memory that does not depend on the file's size. Every
/// fault is a DataError "error: FILE:LINE:COLUMN: fault (path in the document)"; columns count bytes from 1. Invalid UTF-8 and
/// unpaired surrogates are faults, too.
class JsonPull {
 public:
  struct Place {
    std::int64_t line = 1;
    std::int64_t column = 1;
  };

  explicit JsonPull(const std::filesystem::path& path);
  ~JsonPull();
  JsonPull(const JsonPull&) = delete;
  JsonPull& operator=(const JsonPull&) = delete;

  /// Each value is read by exactly one of these; `false` means that the object or array has ended.
  void begin_object();
  bool next_key(std::string& key);
  void begin_array();
  bool next_element();
  void read_string(std::string& text);
  std::int64_t read_integer();
  bool read_boolean();
  void skip_value();
  /// Checks that only white space follows.
  void end();

  /// Returns the kind of the next value in words: "an object", "a string", "a number", "null", "the end of the file", ...
  std::string_view kind_of_next();
  /// Returns the place where the next value begins.
  Place place();
  /// Returns the reader's position in the document: `data[3].paragraphs[0].context`.
  std::string path() const;
  [[noreturn]] void fail(const Place& place, const std::string& what) const;

  /// Returns the digest of all bytes of the file; only after end().
  ContentHash::Digest digest() const { return hash_.digest(); }

 private:
  struct Level {
    bool is_array = false;
    bool is_first = true;
    std::int64_t index = -1;
    std::string key;
  };
  int peek();  // -1 at the end
  int take();
  bool refill();
  void skip_space();
  void expect(std::string_view wanted);
  void enter(bool is_array);
  void read_word(std::string_view word);
  void read_escape(std::string& text);
  void read_wide(int lead, std::string& text);
  char32_t read_hex();
  std::string read_number();
  Place here() const;
  static std::string shown_byte(int byte);  // for a message; -1: the end of the file

  std::filesystem::path file_path_;
  int descriptor_ = -1;
  std::vector<char> buffer_;
  std::size_t position_ = 0;
  std::size_t end_ = 0;
  std::int64_t consumed_ = 0;  // bytes before the buffer
  std::int64_t line_ = 1;
  std::int64_t line_start_ = 0;
  std::vector<Level> levels_;
  ContentHash hash_;
};

}  // namespace hpcbench::train
