#include "yaml/yaml_tree.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <unordered_map>

#include "base/error.hpp"
#include "base/text.hpp"
#include "yaml/diagnostics.hpp"
#include "yaml/syntax_advice.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kDeepest = 100;

[[noreturn]] void refuse_yaml(const SourceLocation& location, const std::string& message, const std::string& advice = "") {
  throw InputError(located_message(location, message, advice));
}

bool starts_bracket(const SourceLocation& location) {
  const std::string& text = location.source->text();
  return location.offset < text.size() && (text[location.offset] == '[' || text[location.offset] == '{');
}

[[noreturn]] void refuse_unclosed_bracket(const SourceLocation& location) {
  refuse_yaml(location, fmt::format("the `{}` is never closed", location.source->text()[location.offset]));
}

[[noreturn]] void refuse_alias(const SourceLocation& location) {
  refuse_yaml(location, "aliases (`*name`) are not taken", "write the value again; a text that starts with `*` needs quotes");
}

/// Builds a tree from the events of yaml-cpp. It throws from within them: the parser holds no state that needs cleaning up.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const YamlSource& source, Diagnostics& diagnostics) : source_(source), diagnostics_(diagnostics) {}

  YamlNode take_root() { return std::move(root_); }
  /// Returns the place of the innermost open list or map with brackets, for messages about a missing bracket.
  std::optional<SourceLocation> open_bracket() const {
    const auto found =
        std::find_if(open_.rbegin(), open_.rend(), [](const Frame& frame) { return starts_bracket(frame.node.location); });
    return found == open_.rend() ? std::nullopt : std::optional(found->node.location);
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    YamlNode node;
    node.location = location_of_null(mark);
    if (expects_key()) refuse_yaml(node.location, "a key is missing before the `:`", braces_advice());
    add(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_alias(location(mark)); }

  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_anchor(mark, 1); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& text) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.quoted = tag == "!";
    node.text = text;
    node.location = location(mark);
    if (node.quoted) refuse_unclosed_quote(node.location);
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
    bool duplicate = false;  // the next value belongs to a duplicate key
    YamlKey key;
    std::unordered_map<std::string, SourceLocation> seen;
  };

  SourceLocation location(const YAML::Mark& mark) const {
    return {&source_, std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), source_.text().size())};
  }
  char byte_at(std::size_t offset) const { return offset < source_.text().size() ? source_.text()[offset] : '\0'; }
  bool expects_key() const { return !open_.empty() && open_.back().node.is_map() && !open_.back().has_key; }

  /// yaml-cpp reports an absent value at the next token: finds the token that it should have followed.
  SourceLocation location_of_null(const YAML::Mark& mark) const {
    const SourceLocation here = location(mark);
    const std::string_view rest = std::string_view(source_.text()).substr(here.offset);
    for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
      if (rest.starts_with(word)) return here;
    }
    if (open_.empty()) return here;
    if (open_.back().has_key) return open_.back().key.location;
    std::size_t before = here.offset;
    while (before > 0 && std::string_view(" \t\r\n").find(source_.text()[before - 1]) != std::string_view::npos) --before;
    const bool marks_item = before > 0 && std::string_view("-,[:{").find(source_.text()[before - 1]) != std::string_view::npos;
    return marks_item ? SourceLocation{&source_, before - 1} : open_.back().node.location;
  }

  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor == 0) return;
    const SourceLocation at = location(mark);
    const bool is_operator =
        byte_at(at.offset) == '&' && std::string_view("& ,]\n").find(byte_at(at.offset + 1)) != std::string_view::npos;
    if (is_operator) refuse_yaml(at, "a text that starts with `&` without quotes", kOperatorAdvice);
    refuse_yaml(at, "anchors (`&name`) are not taken", "a text that starts with `&` needs quotes");
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    const bool plain = tag.empty() || tag == "?" || (tag == "!" && byte_at(location(mark).offset) != '!');
    if (!plain) refuse_yaml(location(mark), "tags (`!name`) are not taken", "a text that starts with `!` needs quotes");
  }

  void refuse_unclosed_quote(const SourceLocation& at) const {
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
    const bool braces = !open_.empty() && byte_at(open_.back().node.location.offset) == '{' &&
                        (byte_at(open_.back().node.location.offset + 1) == '{' ||
                         (open_.back().node.location.offset > 0 && byte_at(open_.back().node.location.offset - 1) == '{'));
    return braces ? kQuoteAdvice : "";
  }

  void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, YamlNode::Kind kind) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    const SourceLocation here = location(mark);
    if (open_.size() >= kDeepest) refuse_yaml(here, fmt::format("lists and maps nest deeper than {}", kDeepest));
    if (expects_key()) {
      const SourceLocation outer = open_.back().node.location;
      if (!braces_advice().empty()) refuse_yaml(outer, "a placeholder without quotes", kQuoteAdvice);
      const bool closed = source_.text().find_first_of("]}", here.offset) != std::string::npos;
      // yaml-cpp reads an unclosed bracket as a key.
      if (starts_bracket(here) && !closed) refuse_unclosed_bracket(here);
      refuse_yaml(here, "a key must be plain text, not a list or a map");
    }
    Frame frame;
    frame.node.kind = kind;
    frame.node.location = here;
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
    const auto [first, is_new] = frame.seen.emplace(node.text, node.location);
    if (!is_new) {
      diagnostics_.add(node.location, fmt::format("the key `{}` stands here twice", node.text),
                       fmt::format("the first is in line {}: keep one of them", place_of(first->second).line));
    }
    frame.key = YamlKey{std::move(node.text), node.location};
    frame.has_key = true;
    frame.duplicate = !is_new;
  }

  const YamlSource& source_;
  Diagnostics& diagnostics_;
  std::vector<Frame> open_;
  YamlNode root_;
};

struct SecondDocument : std::exception {
  explicit SecondDocument(const YAML::Mark& where) : mark(where) {}
  YAML::Mark mark;
};

/// Checks only whether a further document follows.
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

/// Throws yaml-cpp's message, or the more probable mistake; `bracket` is the place of the innermost open `[` or `{`.
[[noreturn]] void refuse_syntax(const YamlSource& source, const YAML::Exception& error,
                                const std::optional<SourceLocation>& bracket) {
  const std::string& message = error.msg;
  const SourceLocation at{&source, std::min(static_cast<std::size_t>(std::max(error.mark.pos, 0)), source.text().size())};
  std::size_t begin = 0;
  const std::string_view line = source.line_at(at.offset, &begin);
  if (message.starts_with("the referenced anchor is not defined")) refuse_alias(at);  // yaml-cpp 0.8 adds its name
  if (message == "illegal EOF in scalar") {
    const std::size_t quote = source.text().find_last_of("'\"", at.offset == 0 ? 0 : at.offset - 1);
    refuse_yaml({&source, quote == std::string::npos ? at.offset : quote}, "a quote is never closed");
  }
  if (source.text().compare(at.offset, 2, "{{") == 0) refuse_yaml(at, "a placeholder without quotes", kQuoteAdvice);
  const bool flow = message.find("flow not found") != std::string::npos;
  const bool later = bracket && (place_of(at).line > place_of(*bracket).line || at.offset >= begin + line.size());
  if (flow && later) refuse_unclosed_bracket(*bracket);
  std::size_t begin_before = 0;
  const std::string_view before = begin == 0 ? std::string_view() : source.line_at(begin - 1, &begin_before);
  const std::string advice = syntax_advice(message, before, line, at.offset - begin);
  refuse_yaml(at, "this is no YAML: " + message, advice);
}

}  // namespace

YamlNode parse_yaml(const YamlSource& source, Diagnostics& diagnostics) {
  diagnostics.know(source);
  check_bytes(source);
  // Blanks replace the text before the YAML, so that all offsets stay true.
  std::istringstream stream(std::string(source.yaml_begin(), ' ') + source.text().substr(source.yaml_begin()));
  TreeBuilder builder(source, diagnostics);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return YamlNode{.location = {&source, source.yaml_begin()}};
    DocumentCounter counter;
    parser.HandleNextDocument(counter);
  } catch (const YAML::Exception& error) {
    refuse_syntax(source, error, builder.open_bracket());
  } catch (const SecondDocument& second) {
    refuse_yaml({&source, std::min(static_cast<std::size_t>(std::max(second.mark.pos, 0)), source.text().size())},
                "a second document starts here: one file is one experiment", "remove the `---` or `...`");
  }
  YamlNode root = builder.take_root();
  if (root.location.source == nullptr) root.location = {&source, source.yaml_begin()};
  return root;
}

}  // namespace hpcbench
