#include "spec/yaml_tree.hpp"

#include <fmt/format.h>
#include <utf8proc.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "spec/complaints.hpp"

namespace hpcbench {

YamlSource::YamlSource(std::string name, std::string text, std::size_t yaml_begin)
    : name_(std::move(name)), text_(std::move(text)), yaml_begin_(yaml_begin) {
  if (text_.starts_with("\xEF\xBB\xBF")) text_.erase(0, 3);
  line_begins_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_begins_.push_back(i + 1);
  }
}

std::string_view YamlSource::line_at(std::size_t offset, std::size_t* begin) const {
  const auto after = std::upper_bound(line_begins_.begin(), line_begins_.end(), std::min(offset, text_.size()));
  *begin = *(after - 1);
  std::string_view line = std::string_view(text_).substr(*begin, text_.find('\n', *begin) - *begin);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Place YamlSource::place(std::size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto after = std::upper_bound(line_begins_.begin(), line_begins_.end(), offset);
  const std::string_view before = std::string_view(text_).substr(*(after - 1), offset - *(after - 1));
  const auto starts_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
  return Place{name_, static_cast<int>(after - line_begins_.begin()),
               1 + static_cast<int>(std::count_if(before.begin(), before.end(), starts_character))};
}

Place place_of(const YamlSpot& spot) { return spot.source->place(spot.offset); }

std::string describe_place(const YamlSpot& spot) {
  const Place place = place_of(spot);
  return fmt::format("{}:{}:{}", place.file, place.line, place.column);
}

std::size_t YamlNode::index_of(std::string_view key) const {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const YamlKey& k) { return k.name == key; });
  return found == keys.end() ? npos : static_cast<std::size_t>(found - keys.begin());
}

const YamlNode* YamlNode::find(std::string_view key) const {
  const std::size_t index = index_of(key);
  return index == npos ? nullptr : &items[index];
}

namespace {

constexpr std::size_t kMostBytes = 1'000'000;
constexpr std::size_t kDeepest = 100;
const char* const kQuoteAdvice = "YAML reads `{` as the start of a map: put quotes around the text, \"--size={{size}}\"";

[[noreturn]] void refuse_yaml(const YamlSpot& spot, const std::string& message, const std::string& advice = "") {
  throw InputError(located_message(spot, message, advice));
}

bool starts_bracket(const YamlSpot& spot) {
  const std::string& text = spot.source->text();
  return spot.offset < text.size() && (text[spot.offset] == '[' || text[spot.offset] == '{');
}

[[noreturn]] void refuse_unclosed_bracket(const YamlSpot& spot) {
  refuse_yaml(spot, fmt::format("the `{}` is never closed", spot.source->text()[spot.offset]));
}

[[noreturn]] void refuse_alias(const YamlSpot& spot) {
  refuse_yaml(spot, "aliases (`*name`) are not taken", "write the value again; a text that starts with `*` needs quotes");
}

/// Turns the events of yaml-cpp into a tree. Throws from within them: the parser holds nothing that must be ended.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const YamlSource& source, Complaints& complaints) : source_(source), complaints_(complaints) {}

  YamlNode take_root() { return std::move(root_); }
  /// Where the innermost open list or map with brackets stands, for messages about what was never closed.
  std::optional<YamlSpot> open_bracket() const {
    const auto found =
        std::find_if(open_.rbegin(), open_.rend(), [](const Frame& frame) { return starts_bracket(frame.node.spot); });
    return found == open_.rend() ? std::nullopt : std::optional(found->node.spot);
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    YamlNode node;
    node.spot = spot_of_null(mark);
    if (expects_key()) refuse_yaml(node.spot, "a key is missing before the `:`", braces_advice());
    add(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse_alias(spot(mark));
  }

  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_anchor(mark, 1); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& text) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.quoted = tag == "!";
    node.text = text;
    node.spot = spot(mark);
    if (node.quoted) refuse_unclosed_quote(node.spot);
    add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, YamlNode::Kind::list);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    begin(mark, tag, anchor, YamlNode::Kind::map);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapEnd() override { end(); }

 private:
  struct Frame {
    YamlNode node;
    bool has_key = false;
    bool duplicate = false;  // the value that follows belongs to a key that was there already
    YamlKey key;
    std::unordered_map<std::string, YamlSpot> seen;
  };

  YamlSpot spot(const YAML::Mark& mark) const {
    return {&source_, std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), source_.text().size())};
  }
  char byte_at(std::size_t offset) const { return offset < source_.text().size() ? source_.text()[offset] : '\0'; }
  bool expects_key() const { return !open_.empty() && open_.back().node.is_map() && !open_.back().has_key; }

  /// yaml-cpp puts a value that is not there on whatever comes next: look for what it should have followed.
  YamlSpot spot_of_null(const YAML::Mark& mark) const {
    const YamlSpot here = spot(mark);
    const std::string_view rest = std::string_view(source_.text()).substr(here.offset);
    for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
      if (rest.starts_with(word)) return here;
    }
    if (open_.empty()) return here;
    if (open_.back().has_key) return open_.back().key.spot;
    std::size_t before = here.offset;
    while (before > 0 && std::string_view(" \t\r\n").find(source_.text()[before - 1]) != std::string_view::npos) --before;
    const bool marks_item = before > 0 && std::string_view("-,[:{").find(source_.text()[before - 1]) != std::string_view::npos;
    return marks_item ? YamlSpot{&source_, before - 1} : open_.back().node.spot;
  }

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) refuse_yaml(spot(mark), "anchors (`&name`) are not taken", "a text that starts with `&` needs quotes");
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    const bool plain = tag.empty() || tag == "?" || (tag == "!" && byte_at(spot(mark).offset) != '!');
    if (!plain) refuse_yaml(spot(mark), "tags (`!name`) are not taken", "a text that starts with `!` needs quotes");
  }

  void refuse_unclosed_quote(const YamlSpot& at) const {
    const std::string& text = source_.text();
    const char quote = byte_at(at.offset);
    if (quote != '\'' && quote != '"') return;
    for (std::size_t i = at.offset + 1; i < text.size(); ++i) {
      if (quote == '"' && text[i] == '\\') {
        ++i;
      } else if (text[i] == quote) {
        if (quote == '"' || byte_at(i + 1) != quote) return;
        ++i;
      }
    }
    refuse_yaml(at, fmt::format("the quote {} is never closed", quote));
  }

  /// `{{x}}` without quotes arrives as a map whose key is a map.
  std::string braces_advice() const {
    const bool braces = !open_.empty() && byte_at(open_.back().node.spot.offset) == '{' &&
                        (byte_at(open_.back().node.spot.offset + 1) == '{' ||
                         (open_.back().node.spot.offset > 0 && byte_at(open_.back().node.spot.offset - 1) == '{'));
    return braces ? kQuoteAdvice : "";
  }

  void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    const YamlSpot here = spot(mark);
    if (open_.size() >= kDeepest) refuse_yaml(here, fmt::format("lists and maps nest deeper than {}", kDeepest));
    if (expects_key()) {
      const YamlSpot outer = open_.back().node.spot;
      if (!braces_advice().empty()) refuse_yaml(outer, "a placeholder without quotes", kQuoteAdvice);
      const bool closed = source_.text().find_first_of("]}", here.offset) != std::string::npos;
      // yaml-cpp takes a bracket that nothing closes for a key.
      if (starts_bracket(here) && !closed) refuse_unclosed_bracket(here);
      refuse_yaml(here, "a key must be plain text, not a list or a map");
    }
    Frame frame;
    frame.node.kind = kind;
    frame.node.spot = here;
    open_.push_back(std::move(frame));
  }

  void end() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = open_.back();
    if (frame.node.is_list()) {
      frame.node.items.push_back(std::move(node));
    } else if (!frame.has_key) {
      add_key(frame, std::move(node));
    } else {
      if (!frame.duplicate) {
        frame.node.keys.push_back(std::move(frame.key));
        frame.node.items.push_back(std::move(node));
      }
      frame.has_key = false;
    }
  }

  void add_key(Frame& frame, YamlNode node) {
    const auto [first, is_new] = frame.seen.emplace(node.text, node.spot);
    if (!is_new) {
      complaints_.add(node.spot, fmt::format("the key `{}` stands here twice", node.text),
                      fmt::format("the first is in line {}: keep one of them", place_of(first->second).line));
    }
    frame.key = YamlKey{std::move(node.text), node.spot};
    frame.has_key = true;
    frame.duplicate = !is_new;
  }

  const YamlSource& source_;
  Complaints& complaints_;
  std::vector<Frame> open_;
  YamlNode root_;
};

struct SecondDocument : std::exception {
  explicit SecondDocument(const YAML::Mark& where) : mark(where) {}
  YAML::Mark mark;
};

/// Sees only whether there is a further document.
class DocumentCounter : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { throw SecondDocument(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

void refuse_bad_bytes(const YamlSource& source) {
  const std::string& text = source.text();
  if (text.size() > kMostBytes) {
    throw InputError(fmt::format("{}:1:1: error: the file has {} bytes, more than the 1 MB that an experiment may have",
                                 source.name(), text.size()));
  }
  if (!is_utf8(text)) {
    std::size_t good = 0;
    utf8proc_int32_t code = 0;
    while (good < text.size()) {
      const auto length = utf8proc_iterate(reinterpret_cast<const std::uint8_t*>(text.data()) + good,
                                           static_cast<utf8proc_ssize_t>(text.size() - good), &code);
      if (length <= 0) break;
      good += static_cast<std::size_t>(length);
    }
    refuse_yaml({&source, good}, "the text is not UTF-8 from here on", "save the file as UTF-8");
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool blank = byte == '\t' || byte == '\n' || (byte == '\r' && i + 1 < text.size() && text[i + 1] == '\n');
    if ((byte < 0x20 && !blank) || byte == 0x7F) {
      refuse_yaml({&source, i}, fmt::format("the control character 0x{:02x} cannot stand here", byte),
                  "in a text with double quotes it can be written as an escape, \"\\x1b\"");
    }
  }
}

std::string syntax_advice(const std::string& message, std::string_view line) {
  const std::size_t indented = line.find_first_not_of(" \t");
  if (line.substr(0, indented).find('\t') != std::string_view::npos) return "indent with spaces, not with tabs";
  if (message == "illegal map value") return "a text that holds `: ` needs quotes";
  if (message == "unknown token") return "a text that starts with one of @ ` % needs quotes";
  if (message == "end of map not found" || message == "end of sequence not found") {
    return "lines of one map or list start in the same column";
  }
  return "";
}

/// yaml-cpp's message, or what a person more likely did; `bracket` is where the innermost open `[` or `{` stands.
[[noreturn]] void refuse_syntax(const YamlSource& source, const YAML::Exception& error, const std::optional<YamlSpot>& bracket) {
  const std::string& message = error.msg;
  const YamlSpot at{&source, std::min(static_cast<std::size_t>(std::max(error.mark.pos, 0)), source.text().size())};
  std::size_t begin = 0;
  const std::string_view line = source.line_at(at.offset, &begin);
  if (message == "the referenced anchor is not defined") refuse_alias(at);
  if (message == "illegal EOF in scalar") {
    const std::size_t quote = source.text().find_last_of("'\"", at.offset == 0 ? 0 : at.offset - 1);
    refuse_yaml({&source, quote == std::string::npos ? at.offset : quote}, "a quote is never closed");
  }
  if (source.text().compare(at.offset, 2, "{{") == 0) refuse_yaml(at, "a placeholder without quotes", kQuoteAdvice);
  const bool flow = message.find("flow not found") != std::string::npos;
  const bool later = bracket && (place_of(at).line > place_of(*bracket).line || at.offset >= begin + line.size());
  if (flow && later) refuse_unclosed_bracket(*bracket);
  const std::string advice = line.find("{{") != std::string_view::npos ? kQuoteAdvice : syntax_advice(message, line);
  refuse_yaml(at, "this is no YAML: " + message, advice);
}

}  // namespace

YamlNode parse_yaml(const YamlSource& source, Complaints& complaints) {
  complaints.know(source);
  refuse_bad_bytes(source);
  // Blanks in place of what stands before the YAML keep all offsets true.
  std::istringstream stream(std::string(source.yaml_begin(), ' ') + source.text().substr(source.yaml_begin()));
  TreeBuilder builder(source, complaints);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return YamlNode{.spot = {&source, source.yaml_begin()}};
    DocumentCounter counter;
    parser.HandleNextDocument(counter);
  } catch (const YAML::Exception& error) {
    refuse_syntax(source, error, builder.open_bracket());
  } catch (const SecondDocument& second) {
    refuse_yaml({&source, std::min(static_cast<std::size_t>(std::max(second.mark.pos, 0)), source.text().size())},
                "a second document starts here: one file is one experiment", "remove the `---` or `...`");
  }
  YamlNode root = builder.take_root();
  if (root.spot.source == nullptr) root.spot = {&source, source.yaml_begin()};
  return root;
}

}  // namespace hpcbench
