#include "ingest/yaml_json.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <sstream>
#include <stdexcept>
#include <vector>

#include "base/json_text.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

/// A plain scalar as JSON has it; empty for a text.
std::string plain_scalar(const std::string& text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return "null";
  if (text == "true" || text == "True") return "true";
  if (text == "false" || text == "False") return "false";
  if (text == ".nan" || text == ".NaN" || text == ".NAN") return "NaN";
  if (text == ".inf" || text == ".Inf" || text == "-.inf" || text == "-.Inf")
    return text.front() == '-' ? "-Infinity" : "Infinity";
  return json_number(text) ? text : "";
}

/// Writes the events of yaml-cpp as JSON. Throws from within them: the parser holds nothing that must be ended.
class JsonEvents : public YAML::EventHandler {
 public:
  std::string take() { return std::move(json_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add(mark, "null", "null"); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse(mark, "an alias (`*name`), which is not read"); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& text) override {
    const std::string plain = tag == "!" ? "" : plain_scalar(text);
    add(mark, plain.empty() ? json_quote(text) : plain, text);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(mark, '[');
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    open(mark, '{');
  }
  void OnSequenceEnd() override { close(']'); }
  void OnMapEnd() override { close('}'); }

 private:
  static constexpr std::size_t kDeepest = 60;
  struct Level {
    bool is_map = false;
    bool is_empty = true;
    bool has_key = false;
  };

  [[noreturn]] static void refuse(const YAML::Mark& mark, const std::string& why) {
    throw std::runtime_error(fmt::format("line {}: {}", mark.line + 1, why));
  }

  /// Goes to the line of a value, and writes what stands between it and the one before.
  void separate(const YAML::Mark& mark) {
    for (; line_ < mark.line; ++line_) json_ += '\n';
    if (levels_.empty()) return;
    Level& level = levels_.back();
    if (level.has_key) {
      json_ += ':';
    } else if (!level.is_empty) {
      json_ += ',';
    }
    level.is_empty = false;
  }

  void add(const YAML::Mark& mark, const std::string& value, const std::string& text) {
    separate(mark);
    if (levels_.empty() || !levels_.back().is_map) {
      json_ += value;
      return;
    }
    json_ += levels_.back().has_key ? value : json_quote(text);
    levels_.back().has_key = !levels_.back().has_key;
  }

  void open(const YAML::Mark& mark, char bracket) {
    if (levels_.size() >= kDeepest) refuse(mark, "lists and maps nest too deep");
    if (!levels_.empty() && levels_.back().is_map && !levels_.back().has_key) refuse(mark, "a key that is a list or a map");
    separate(mark);
    json_ += bracket;
    levels_.push_back({.is_map = bracket == '{'});
  }

  void close(char bracket) {
    json_ += bracket;
    levels_.pop_back();
    if (!levels_.empty()) levels_.back().has_key = false;
  }

  std::string json_;
  int line_ = 0;
  std::vector<Level> levels_;
};

}  // namespace

bool is_yaml_name(std::string_view name) { return name.ends_with(".yaml") || name.ends_with(".yml"); }

std::string yaml_as_json(const std::string& text, std::string& problem) {
  JsonEvents events;
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    parser.HandleNextDocument(events);
  } catch (const YAML::Exception& error) {
    problem = fmt::format("line {}: not YAML: {}", error.mark.line + 1, error.msg);
    return "";
  } catch (const std::runtime_error& error) {
    problem = error.what();
    return "";
  }
  return events.take();
}

}  // namespace hpcbench
