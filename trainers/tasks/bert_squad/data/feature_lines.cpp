#include "tasks/bert_squad/data/feature_lines.hpp"

#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace hpcbench::train {

namespace {

constexpr std::int64_t kPieceTokens = 1 << 14;  // of the features that a thread prints at a time; one feature may have more
constexpr std::size_t kNumberBytes = 20;        // of any 64-bit number

/// Lines in one reused piece of memory. Call room() before writing.
class LineBuffer {
 public:
  void clear() { size_ = 0; }
  const char* data() const { return bytes_.data(); }
  std::size_t size() const { return size_; }

  void room(std::size_t bytes) {
    if (bytes_.size() - size_ < bytes) bytes_.resize(2 * bytes_.size() + bytes);
  }
  void text(std::string_view text) {
    std::memcpy(bytes_.data() + size_, text.data(), text.size());
    size_ += text.size();
  }
  void number(std::int64_t number) {
    char* const at = bytes_.data() + size_;
    size_ += static_cast<std::size_t>(std::to_chars(at, at + kNumberBytes, number).ptr - at);
  }
  /// Writes a string of JSON; at most 6 bytes for one, and the quotes.
  void quoted(std::string_view text) {
    byte('"');
    for (const char c : text) {
      const auto code = static_cast<unsigned char>(c);
      if (code < 0x20) {
        constexpr const char* kDigits = "0123456789abcdef";
        this->text("\\u00");
        byte(kDigits[code >> 4U]);
        byte(kDigits[code & 15U]);
        continue;
      }
      if (c == '"' || c == '\\') byte('\\');
      byte(c);
    }
    byte('"');
  }

 private:
  void byte(char c) { bytes_[size_++] = c; }

  std::vector<char> bytes_;
  std::size_t size_ = 0;
};

/// Writes , "name": [f(0), f(1), ...]
template <class Write>
void add_list(LineBuffer& lines, std::string_view name, std::size_t size, const Write& write) {
  lines.text(", \"");
  lines.text(name);
  lines.text("\": [");
  for (std::size_t i = 0; i < size; ++i) {
    if (i > 0) lines.text(", ");
    write(i);
  }
  lines.text("]");
}

void add_feature(LineBuffer& lines, const SquadFeatures& features, const Feature& feature, std::int64_t length) {
  const std::size_t tokens = feature.input_ids.size();
  const std::size_t size = length > 0 ? static_cast<std::size_t>(length) : tokens;
  const std::string_view id = features.question(feature.example).id;
  constexpr std::size_t kBytesOfToken = 4 * (kNumberBytes + 2) + 4;  // four numbers with their separators
  constexpr std::size_t kOtherBytes = 256;                           // names, brackets, the two positions
  lines.room(6 * id.size() + size * kBytesOfToken + kOtherBytes);
  lines.text("{\"example_id\": ");
  lines.quoted(id);
  add_list(lines, "input_ids", size,
           [&](std::size_t i) { lines.number(i < tokens ? feature.input_ids[i] : features.padding_id()); });
  const auto context_begin = static_cast<std::size_t>(feature.context_begin);
  add_list(lines, "token_type_ids", size, [&](std::size_t i) { lines.text(i < tokens && i >= context_begin ? "1" : "0"); });
  add_list(lines, "offsets", size, [&](std::size_t i) {
    const TokenOffset offset = i < tokens ? feature.offsets[i] : TokenOffset{};
    lines.text("[");
    lines.number(offset.begin);
    lines.text(", ");
    lines.number(offset.end);
    lines.text("]");
  });
  lines.text(", \"start_position\": ");
  lines.number(length > 0 ? padded_start_position(feature, length) : feature.start_position);
  lines.text(", \"end_position\": ");
  lines.number(feature.end_position);
  lines.text("}\n");
}

/// Threads take pieces of the features in turn, print them into memory in parallel, and write them in the pieces' order.
class FeaturePrinter {
 public:
  FeaturePrinter(const SquadFeatures& features, std::int64_t length, std::FILE* output)
      : features_(features), length_(length), output_(output) {}

  void run(int count) {
    std::vector<std::thread> threads;
    try {
      for (int i = 1; i < count; ++i) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {  // no more threads are available: the existing ones do the work
    }
    work();
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  struct Piece {
    std::int64_t number = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  void work() {
    try {
      LineBuffer lines;
      for (Piece piece = take(); piece.begin < piece.end; piece = take()) {
        lines.clear();
        for (std::int64_t i = piece.begin; i < piece.end; ++i) add_feature(lines, features_, features_[i], length_);
        if (!write(piece, lines)) return;
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      turned_.notify_all();
    }
  }

  /// Returns an empty piece if nothing is left.
  Piece take() {
    const std::lock_guard lock(mutex_);
    Piece piece{taken_, next_, next_};
    std::int64_t tokens = 0;
    while (piece.end < features_.size() && tokens < kPieceTokens) {
      tokens += length_ > 0 ? length_ : std::ssize(features_[piece.end].input_ids);
      ++piece.end;
    }
    next_ = piece.end;
    ++taken_;
    return piece;
  }

  /// Waits for the piece's turn. Returns false if another thread has failed.
  bool write(const Piece& piece, const LineBuffer& lines) {
    std::unique_lock lock(mutex_);
    turned_.wait(lock, [&] { return error_ || written_ == piece.number; });
    if (error_) return false;
    const bool is_written = std::fwrite(lines.data(), 1, lines.size(), output_) == lines.size() && std::fflush(output_) == 0;
    if (!is_written) throw DataError(concat("error: the features cannot be written: ", std::strerror(errno)));
    ++written_;
    turned_.notify_all();
    return true;
  }

  const SquadFeatures& features_;
  std::int64_t length_;
  std::FILE* output_;

  std::mutex mutex_;  // guards the following members
  std::condition_variable turned_;
  std::int64_t next_ = 0;
  std::int64_t taken_ = 0;
  std::int64_t written_ = 0;
  std::exception_ptr error_;
};

}  // namespace

void print_features(const SquadFeatures& features, std::int64_t length, int threads, std::FILE* output) {
  FeaturePrinter(features, length, output).run(threads);
}

}  // namespace hpcbench::train
