#include "tasks/bert_squad/data/json_pull.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

constexpr std::size_t kJsonBuffer = 1U << 18U;
constexpr std::size_t kDeepestLevel = 200;

}  // namespace

std::string JsonPull::shown_byte(int byte) {
  if (byte < 0) return "the end of the file";
  if (byte > 0x20 && byte < 0x7f) return concat("`", static_cast<char>(byte), "`");
  constexpr const char* kDigits = "0123456789abcdef";
  return concat("the byte 0x", kDigits[byte >> 4 & 15], kDigits[byte & 15]);
}

JsonPull::JsonPull(const std::filesystem::path& path) : file_path_(path), buffer_(kJsonBuffer) {
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw DataError(concat("error: ", path.string(), " cannot be read: ", std::strerror(errno)));
  if (peek() == 0xef) {  // a byte order mark
    const Place begin = here();
    for (const int byte : {0xef, 0xbb, 0xbf}) {
      if (take() != byte) fail(begin, "this is no JSON");
    }
  }
}

JsonPull::~JsonPull() { ::close(descriptor_); }

bool JsonPull::refill() {
  consumed_ += static_cast<std::int64_t>(end_);
  position_ = end_ = 0;
  ssize_t got = 0;
  do {
    got = ::read(descriptor_, buffer_.data(), buffer_.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) throw DataError(concat("error: ", file_path_.string(), " cannot be read: ", std::strerror(errno)));
  end_ = static_cast<std::size_t>(got);
  hash_.add(std::as_bytes(std::span(buffer_.data(), end_)));
  return end_ > 0;
}

int JsonPull::peek() {
  if (position_ == end_ && !refill()) return -1;
  return static_cast<unsigned char>(buffer_[position_]);
}

int JsonPull::take() {
  const int byte = peek();
  if (byte >= 0) ++position_;
  return byte;
}

JsonPull::Place JsonPull::here() const { return {line_, consumed_ + static_cast<std::int64_t>(position_) - line_start_ + 1}; }

JsonPull::Place JsonPull::place() {
  skip_space();
  return here();
}

void JsonPull::skip_space() {
  while (true) {
    const int byte = peek();
    if (byte != ' ' && byte != '\t' && byte != '\r' && byte != '\n') return;
    ++position_;
    if (byte == '\n') {
      ++line_;
      line_start_ = consumed_ + static_cast<std::int64_t>(position_);
    }
  }
}

std::string JsonPull::path() const {
  std::string path;
  for (const Level& level : levels_) {
    if (level.is_array) {
      if (level.index >= 0) path += "[" + std::to_string(level.index) + "]";
    } else if (!level.key.empty()) {
      path += (path.empty() ? "" : ".") + level.key;
    }
  }
  return path;
}

void JsonPull::fail(const Place& place, const std::string& what) const {
  constexpr std::size_t kLongestPath = 120;
  std::string path = this->path();
  if (path.size() > kLongestPath) path = path.substr(0, kLongestPath) + "...";
  throw DataError(concat("error: ", file_path_.string(), ":", place.line, ":", place.column, ": ", what,
                         path.empty() ? "" : " (in " + path + ")"));
}

std::string_view JsonPull::kind_of_next() {
  skip_space();
  const int byte = peek();
  switch (byte) {
    case -1:
      return "the end of the file";
    case '{':
      return "an object";
    case '[':
      return "an array";
    case '"':
      return "a string";
    case 't':
    case 'f':
      return "true or false";
    case 'n':
      return "null";
    default:
      return byte == '-' || (byte >= '0' && byte <= '9') ? "a number" : "no JSON";
  }
}

void JsonPull::expect(std::string_view wanted) {
  const std::string_view kind = kind_of_next();
  if (kind == wanted) return;
  fail(here(), concat("expected ", wanted, ", found ", kind == "no JSON" ? shown_byte(peek()) : std::string(kind)));
}

void JsonPull::enter(bool is_array) {
  expect(is_array ? "an array" : "an object");
  if (levels_.size() == kDeepestLevel) fail(here(), concat("this is nested deeper than ", kDeepestLevel, " levels"));
  take();
  levels_.push_back({is_array, true, -1, ""});
}

void JsonPull::begin_object() { enter(false); }

void JsonPull::begin_array() { enter(true); }

bool JsonPull::next_key(std::string& key) {
  Level& level = levels_.back();
  skip_space();
  int byte = peek();
  if (byte == '}') {
    ++position_;
    levels_.pop_back();
    return false;
  }
  if (!level.is_first) {
    if (byte != ',') fail(here(), concat("expected `,` or `}`, found ", shown_byte(byte)));
    ++position_;
    skip_space();
    byte = peek();
  }
  level.is_first = false;
  if (byte != '"') fail(here(), concat("expected a key in quotation marks, found ", shown_byte(byte)));
  read_string(key);
  level.key = key;
  skip_space();
  byte = peek();
  if (byte != ':') fail(here(), concat("expected `:`, found ", shown_byte(byte)));
  ++position_;
  return true;
}

bool JsonPull::next_element() {
  Level& level = levels_.back();
  skip_space();
  const int byte = peek();
  if (byte == ']') {
    ++position_;
    levels_.pop_back();
    return false;
  }
  if (!level.is_first) {
    if (byte != ',') fail(here(), concat("expected `,` or `]`, found ", shown_byte(byte)));
    ++position_;
  }
  level.is_first = false;
  ++level.index;
  return true;
}

void JsonPull::skip_value() {
  const std::size_t depth = levels_.size();
  std::string text;
  do {
    if (levels_.size() > depth && !(levels_.back().is_array ? next_element() : next_key(text))) continue;
    skip_space();
    const int byte = peek();
    if (byte == '{') {
      begin_object();
    } else if (byte == '[') {
      begin_array();
    } else if (byte == '"') {
      read_string(text);
    } else if (byte == 't' || byte == 'f') {
      read_boolean();
    } else if (byte == 'n') {
      read_word("null");
    } else if (byte == '-' || (byte >= '0' && byte <= '9')) {
      read_number();
    } else {
      fail(here(), concat("expected a value, found ", shown_byte(byte)));
    }
  } while (levels_.size() > depth);
}

void JsonPull::end() {
  skip_space();
  if (peek() >= 0) fail(here(), concat("nothing may follow the document, found ", shown_byte(peek())));
}

}  // namespace hpcbench::train
