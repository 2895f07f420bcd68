#include "yaml/syntax_advice.hpp"

#include <fmt/format.h>

#include <cctype>

namespace hpcbench {

namespace {

/// Returns a line with every quoted text replaced by `q`.
std::string without_quoted(std::string_view line) {
  std::string bare(line);
  char quote = 0;
  for (std::size_t i = 0; i < bare.size(); ++i) {
    const char c = bare[i];
    const bool may_begin = i == 0 || std::string_view(" [{,").find(line[i - 1]) != std::string_view::npos;
    if (quote != 0) {
      bare[i] = 'q';
      if (c == quote) quote = 0;
    } else if (may_begin && (c == '"' || c == '\'')) {
      quote = c;
    }
  }
  return bare;
}

/// Returns the key of `key:value`, whose colon YAML reads as text: at the start of a line, or behind a `{` or `,`.
std::string key_without_blank(std::string_view line) {
  const std::string bare = without_quoted(line);
  const auto is_word = [&](std::size_t i) { return std::isalnum(static_cast<unsigned char>(bare[i])) != 0 || bare[i] == '_'; };
  for (std::size_t colon = bare.find(':'); colon != std::string::npos; colon = bare.find(':', colon + 1)) {
    std::size_t begin = colon;
    while (begin > 0 && is_word(begin - 1)) --begin;
    const std::size_t before = begin == 0 ? std::string::npos : bare.find_last_not_of(" -", begin - 1);
    const bool may_be_key = before == std::string::npos || bare[before] == '{' || bare[before] == ',';
    const bool goes_on = colon + 1 < bare.size() && std::string_view(" \t/,]}").find(bare[colon + 1]) == std::string_view::npos;
    if (begin < colon && may_be_key && goes_on) return bare.substr(begin, colon - begin);
  }
  return "";
}

}  // namespace

std::string syntax_advice(const std::string& message, std::string_view before, std::string_view line, std::size_t at) {
  const std::size_t indented = line.find_first_not_of(" \t");
  if (line.substr(0, indented).find('\t') != std::string_view::npos) return "indent with spaces, not with tabs";
  if (message.starts_with("unknown escape character")) {
    return "in double quotes a backslash begins an escape: write the text in single quotes, '\\d+'";
  }
  const bool shows_operator = message == "unknown token" && at < line.size() && (line[at] == '|' || line[at] == '>');
  if (shows_operator || message.find("block scalar") != std::string::npos) return kOperatorAdvice;
  if (message.find("flow not found") != std::string::npos && line.find("${") != std::string_view::npos) {
    return "a text with `${` needs quotes; a variable is replaced by a shell alone: [bash, -c, '...']";
  }
  const bool flow = message == "end of map flow not found";
  if (flow || message == "illegal map value") {
    const std::string key = key_without_blank(flow ? line : before);
    if (!key.empty()) return fmt::format("a blank is missing behind the colon: `{}: `", key);
  }
  if (without_quoted(line).find("{{") != std::string::npos) return kQuoteAdvice;
  if (message == "illegal map value") return "a text that holds `: ` needs quotes";
  if (message == "unknown token") return "a text that starts with one of @ ` % needs quotes";
  if (message == "end of map not found" || message == "end of sequence not found") {
    return at > indented ? "a text that starts with `[`, `{` or a quote and goes on behind its end needs quotes as a whole"
                         : "lines of one map or list start in the same column";
  }
  return "";
}

}  // namespace hpcbench
