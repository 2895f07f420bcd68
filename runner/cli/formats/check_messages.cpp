#include "cli/formats/check_messages.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "base/url.hpp"
#include "report/escapes.hpp"

namespace hpcbench {

namespace {

using Json = nlohmann::ordered_json;

const char* word_of(CheckMessage::Level level) {
  return level == CheckMessage::Level::error ? "error" : level == CheckMessage::Level::warning ? "warning" : "note";
}

CheckMessage::Level level_of(std::string_view word) {
  return word == "error"     ? CheckMessage::Level::error
         : word == "warning" ? CheckMessage::Level::warning
                             : CheckMessage::Level::note;
}

std::optional<CheckMessage> beginning_of_message(const std::string& line) {
  static const RE2 kLocated(R"((.*?):(\d+):(\d+): (error|warning|note): (.*))");
  static const RE2 kOfLine(R"((.*?):(\d+): (error|warning|note): (.*))");  // of a table, whose places are lines
  static const RE2 kPlain(R"((error|warning|note): (.*))");
  CheckMessage message;
  std::string level;
  if (RE2::FullMatch(line, kLocated, &message.file, &message.line, &message.column, &level, &message.message) ||
      RE2::FullMatch(line, kPlain, &level, &message.message) ||
      RE2::FullMatch(line, kOfLine, &message.file, &message.line, &level, &message.message)) {
    message.level = level_of(level);
    return message;
  }
  return std::nullopt;
}

std::string dumped_check(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json text_or_null_of(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

std::string with_advice(const CheckMessage& message) {
  return message.advice.empty() ? message.message : message.message + "\n" + message.advice;
}

/// The rule that all messages are of, with what GitHub's code scanning wants of a rule.
Json rule() {
  const auto text = [](const char* words) { return Json::object({{"text", words}}); };
  return {{"id", "check"},
          {"name", "ExperimentFile"},
          {"shortDescription", text("Mistake in an experiment or site file")},
          {"fullDescription", text("`hpcbench check` refuses the file, or warns of what the study will lack.")},
          {"help", text("docs/experiment-file.md describes every key, docs/errors.md what to do about a message.")}};
}

}  // namespace

std::vector<CheckMessage> read_messages(const std::string& text) {
  std::vector<CheckMessage> messages;
  for (const std::string& line : split(text, '\n')) {
    // The lines under a message may quote anything, another message too.
    if (!messages.empty() && line.starts_with("  | ")) continue;
    if (!messages.empty() && line.starts_with("  = ")) {
      std::string& advice = messages.back().advice;
      advice += (advice.empty() ? "" : "\n") + line.substr(4);
    } else if (auto begun = beginning_of_message(line)) {
      messages.push_back(*std::move(begun));
    } else if (messages.empty() && !line.empty()) {
      messages.push_back({CheckMessage::Level::error, line});
    }
  }
  return messages;
}

std::string json_of_check(const CheckResult& result) {
  Json json = {{"schema", 1}, {"file", result.file}, {"configurations", nullptr}, {"runs", nullptr}};
  if (result.configurations) json["configurations"] = *result.configurations;
  if (result.runs) json["runs"] = *result.runs;
  json["findings"] = Json::array();
  for (const CheckMessage& message : result.messages) {
    Json row = {
        {"level", word_of(message.level)}, {"file", text_or_null_of(message.file)}, {"line", nullptr}, {"column", nullptr}};
    if (message.line > 0) row["line"] = message.line;
    if (message.column > 0) row["column"] = message.column;
    row["message"] = message.message;
    row["advice"] = text_or_null_of(message.advice);
    json["findings"].push_back(std::move(row));
  }
  return dumped_check(json);
}

std::string github_of_check(const CheckResult& result) {
  std::string text;
  for (const CheckMessage& message : result.messages) {
    const char* const word = message.level == CheckMessage::Level::note ? "notice" : word_of(message.level);
    text += fmt::format("::{} file={}", word, escape_workflow(message.file.empty() ? result.file : message.file, true));
    if (message.line > 0) text += fmt::format(",line={}", message.line);
    if (message.column > 0) text += fmt::format(",col={}", message.column);
    text += "::" + escape_workflow(with_advice(message), false) + "\n";
  }
  return text;
}

std::string sarif_of_check(const CheckResult& result) {
  Json results = Json::array();
  for (const CheckMessage& message : result.messages) {
    Json place = {{"artifactLocation", {{"uri", file_uri(message.file.empty() ? result.file : message.file)}}}};
    if (message.line > 0) place["region"] = {{"startLine", message.line}};
    if (message.column > 0) place["region"]["startColumn"] = message.column;
    Json location = {{"physicalLocation", std::move(place)}};
    results.push_back({{"ruleId", "check"},
                       {"level", word_of(message.level)},
                       {"message", {{"text", with_advice(message)}}},
                       {"locations", Json::array({std::move(location)})}});
  }
  const Json driver = {{"name", "hpcbench"}, {"version", HPCBENCH_VERSION}, {"rules", Json::array({rule()})}};
  Json run = {{"tool", {{"driver", driver}}}, {"columnKind", "unicodeCodePoints"}, {"results", std::move(results)}};
  return dumped_check({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                       {"version", "2.1.0"},
                       {"runs", Json::array({std::move(run)})}});
}

}  // namespace hpcbench
