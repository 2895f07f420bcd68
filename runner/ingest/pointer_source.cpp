#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/byte_order_mark.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "ingest/metric_reader.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kLargestDocument = std::size_t{64} << 20;

/// The tokens of a JSON pointer (RFC 6901); `~2` and a text without a leading slash are no pointer.
std::optional<std::vector<std::string>> pointer_tokens(std::string_view pointer) {
  std::vector<std::string> tokens;
  if (pointer.empty()) return tokens;
  if (pointer.front() != '/') return std::nullopt;
  for (const std::string& part : split(pointer.substr(1), '/')) {
    std::string token;
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] != '~') {
        token += part[i];
      } else if (++i < part.size() && (part[i] == '0' || part[i] == '1')) {
        token += part[i] == '0' ? '~' : '/';
      } else {
        return std::nullopt;
      }
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

/// `0`, `17`: an index of an array, without leading zeros.
std::optional<std::size_t> array_index(std::string_view token) {
  std::size_t index = 0;
  const auto read = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool whole = read.ec == std::errc() && read.ptr == token.data() + token.size();
  return whole && (token == "0" || !token.starts_with('0')) ? std::optional(index) : std::nullopt;
}

std::string plain_key(std::string_view key) {
  return key.find('\\') == std::string_view::npos ? std::string(key) : json_unquote(fmt::format("\"{}\"", key));
}

long long count_lines(std::string_view text) { return 1 + std::count(text.begin(), text.end(), '\n'); }

/// Values in a JSON document, or in JSON lines: the first line that is not blank says which. Under `header` JSON stands in the
/// text of a log: of lines, those that begin like no object or array are text, and a document ends where its value does.
class PointerReader : public MetricReader {
 public:
  explicit PointerReader(const Metric& spec) : MetricReader(spec), tokens_(pointer_tokens(spec.selector)) {}

  std::optional<std::string> error() const override {
    if (tokens_) return std::nullopt;
    return fmt::format("not a JSON pointer: {}", spec_.selector);
  }

  void feed(std::string_view piece) override {
    while (!piece.empty()) {
      const std::size_t newline = mode_ == Mode::document ? std::string_view::npos : piece.find('\n');
      const std::size_t part = newline == std::string_view::npos ? piece.size() : newline + 1;
      append(piece.substr(0, part));
      piece.remove_prefix(part);
      if (newline != std::string_view::npos) end_line();
    }
  }

 private:
  enum class Mode { unknown, lines, document };

  void begin_file() override {
    mode_ = Mode::unknown;
    text_.clear();
    line_ = 1;
    too_large_ = false;
  }

  void end_file() override {
    drop_mark();
    if (mode_ == Mode::lines || too_large_) {
      end_line();
    } else if (!trim(text_).empty()) {
      read_value(text_, line_);
    }
    text_.clear();
    text_.shrink_to_fit();
  }

  void append(std::string_view part) {
    if (too_large_) return;
    if (text_.size() + part.size() > kLargestDocument) {
      too_large_ = true;
      text_.clear();
      return;
    }
    text_ += part;
  }

  /// As CSV and patterns of `header` do, JSON may begin with the mark of UTF-8.
  void drop_mark() {
    if (line_ == 1 && text_.starts_with(kByteOrderMark)) text_.erase(0, kByteOrderMark.size());
  }

  void end_line() {
    drop_mark();
    if (mode_ == Mode::document) {
      if (too_large_) warn_at_line(1, "more than 64 MiB in one JSON document: not read");
      return;
    }
    if (too_large_) {
      warn_at_line(line_, "a line of more than 64 MiB: left out");
    } else if (!trim(text_).empty()) {
      if (mode_ == Mode::unknown) mode_ = is_json(text_) ? Mode::lines : Mode::document;
      if (mode_ == Mode::document) return;  // the line stays: it is the document's beginning
      if (!spec_.has_header() || is_container(text_)) read_value(text_, line_);
    }
    too_large_ = false;
    text_.clear();
    ++line_;
  }

  static bool is_container(std::string_view line) { return trim(line).starts_with('{') || trim(line).starts_with('['); }

  void read_value(std::string_view text, long long line) {
    std::optional<std::size_t> offset = json_error_offset(text);
    if (offset && mode_ == Mode::document && spec_.has_header() && is_json(text.substr(0, *offset))) {
      text = text.substr(0, *offset);  // what follows is text of the log
      offset.reset();
    }
    if (offset) {
      warn_at_line(line + count_lines(text.substr(0, *offset)) - 1,
                   *offset >= trim(text).size() ? "the JSON ends too early" : "not JSON");
      return;
    }
    root_ = text;
    root_line_ = line;
    last_offset_.reset();
    objects_.clear();
    follow(trim(text), 0, std::nullopt);
    if (last_offset_) found_at_line(line_of(*last_offset_), true);
  }

  /// A number, or a word that names a point.
  std::optional<std::string> index_text(std::string_view value) const {
    const std::optional<std::string> word = json_string(value);
    if (word) return word->empty() || !may_have_words(spec_) ? std::nullopt : word;
    return json_number(value) ? std::optional(std::string(value)) : std::nullopt;
  }

  /// `index`: that of the innermost object on the way that has the member `spec_.index`.
  void follow(std::string_view value, std::size_t depth, std::optional<std::string> index) {
    if (depth == tokens_->size()) {
      take_value(value, index);
      return;
    }
    const std::string& token = (*tokens_)[depth];
    if (value.starts_with('{')) {
      JsonMembers members;
      scan_object(value, members);
      if (!spec_.index.empty()) {
        if (const auto text = index_text(find_member(members, spec_.index))) index = text;
      }
      objects_.push_back(&members);
      for (const JsonMember& member : members) {
        if (token == "*" || plain_key(member.key) == token) follow(member.value, depth + 1, index);
      }
      objects_.pop_back();
    } else if (value.starts_with('[')) {
      const std::vector<std::string_view> items = scan_array(value).value_or(std::vector<std::string_view>());
      const std::optional<std::size_t> only = array_index(token);
      for (std::size_t i = 0; i < items.size(); ++i) {
        if (token == "*" || only == i) follow(items[i], depth + 1, index);
      }
    }
  }

  /// A member that `where` names is that of the innermost object on the way that has it.
  bool is_meant() const {
    return std::all_of(spec_.where.begin(), spec_.where.end(), [&](const auto& clause) {
      for (auto object = objects_.rbegin(); object != objects_.rend(); ++object) {
        const JsonMembers& members = **object;
        const auto member = std::find_if(members.rbegin(), members.rend(),
                                         [&](const JsonMember& each) { return plain_key(each.key) == clause.first; });
        if (member == members.rend()) continue;
        const std::optional<std::string> text = json_scalar_text(member->value);
        return text && is_one_of(*text, clause.second);
      }
      return false;
    });
  }

  void take_value(std::string_view value, const std::optional<std::string>& index) {
    if (value == "null") return;
    if (!is_meant()) {
      taker_.leave_out();
      return;
    }
    const auto offset = static_cast<std::size_t>(value.data() - root_.data());
    if (taker_.take_text(value, index)) {
      last_offset_ = offset;
    } else if (taker_.matches().not_finite > 0 && taker_.matches().first_not_finite_at.empty()) {
      found_at_line(line_of(offset), false);
    }
  }

  long long line_of(std::size_t offset) const { return root_line_ + count_lines(root_.substr(0, offset)) - 1; }

  const std::optional<std::vector<std::string>> tokens_;
  Mode mode_ = Mode::unknown;
  std::string text_;
  long long line_ = 1;
  bool too_large_ = false;
  std::string_view root_;
  long long root_line_ = 1;
  std::optional<std::size_t> last_offset_;   // in root_
  std::vector<const JsonMembers*> objects_;  // on the way to the value, the innermost last
};

}  // namespace

std::unique_ptr<MetricReader> make_pointer_reader(const Metric& spec) { return std::make_unique<PointerReader>(spec); }

}  // namespace hpcbench
