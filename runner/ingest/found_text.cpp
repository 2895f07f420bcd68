#include "ingest/found_text.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "ingest/line_reader.hpp"
#include "ingest/metric_reader.hpp"
#include "ingest/terminal_text.hpp"
#include "ingest/wandb_file.hpp"
#include "ingest/yaml_json.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kLargestText = std::size_t{64} << 20;
constexpr std::size_t kLongestFound = 1000;

/// Keeps the first text; another one is a problem.
class TextCollector {
 public:
  void take(const std::string& place, std::string_view found) {
    const std::string text = printable(trim(found.substr(0, kLongestFound)));
    if (text.empty()) return;
    if (!found_.text) {
      found_.text = text;
      found_.place = place;
    } else if (*found_.text != text && found_.problem.empty()) {
      found_.problem = fmt::format("{} has `{}`, and {} has `{}`", found_.place, *found_.text, place, text);
    }
  }
  void fail(const std::string& problem) {
    if (found_.problem.empty()) found_.problem = problem;
  }
  FoundText finish() {
    if (!found_.problem.empty()) found_.text.reset();
    return std::move(found_);
  }

 private:
  FoundText found_;
};

void find_pattern(const std::string& file, const std::string& name, const RE2& pattern, TextCollector& texts) {
  long long line = 1;
  const auto problem = read_lines(file, [&](std::string_view piece) {
    const TerminalText shown(piece);
    const re2::StringPiece text(shown.text().data(), shown.text().size());
    std::vector<re2::StringPiece> groups(pattern.NumberOfCapturingGroups() > 0 ? 2 : 1);
    std::size_t from = 0;
    while (from <= text.size() &&
           pattern.Match(text, from, text.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) {
      const auto begin = static_cast<std::size_t>(groups[0].data() - text.data());
      texts.take(fmt::format("{}:{}", name, line + shown.lines_before(begin)), {groups.back().data(), groups.back().size()});
      from = std::max(begin + groups[0].size(), begin + 1);
    }
    line += std::count(piece.begin(), piece.end(), '\n');
    return true;
  });
  if (problem) texts.fail(fmt::format("{}: {}", name, *problem));
}

void find_pointer(const std::string& file, const std::string& name, const std::string& pointer, TextCollector& texts) {
  std::string text;
  if (const auto problem = read_text(file, kLargestText, text)) return texts.fail(fmt::format("{}: {}", name, *problem));
  if (text.size() > kLargestText) return texts.fail(name + ": more than 64 MiB: not read");
  if (is_yaml_name(name) || is_wandb_name(name)) {
    std::string why;
    text = is_yaml_name(name) ? yaml_as_json(text, why) : wandb_as_json(text, why);
    if (!why.empty()) return texts.fail(fmt::format("{}: {}", name, why));
  }
  const auto take = [&](std::string_view json, long long first_line) {
    for (const std::string_view value : json_values_at(json, pointer)) {
      const long long line = first_line + std::count(json.data(), value.data(), '\n');
      const std::optional<std::string> scalar = json_scalar_text(value);
      if (scalar) texts.take(fmt::format("{}:{}", name, line), *scalar);
      if (!scalar && value != "null") texts.fail(fmt::format("{}:{}: {} is a list or a map", name, line, pointer));
    }
  };
  if (is_json(text)) return take(text, 1);
  bool is_lines = false;
  LineSplitter lines([&](std::string_view line, long long number) {
    if (!is_json(line)) return;
    is_lines = true;
    take(line, number);
  });
  lines.feed(text);
  lines.finish();
  if (!is_lines && !trim(text).empty()) texts.fail(name + ": not JSON");
}

}  // namespace

FoundText find_text(const std::vector<std::string>& files, const std::string& kind, const std::string& selector) {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  options.set_never_nl(true);
  const RE2 pattern("(?m)" + (kind == "pattern" ? selector : ""), options);
  TextCollector texts;
  for (const std::string& file : files) {
    const std::string name = std::filesystem::path(file).filename().string();
    if (kind == "pattern") {
      find_pattern(file, name, pattern, texts);
    } else {
      find_pointer(file, name, selector, texts);
    }
  }
  return texts.finish();
}

}  // namespace hpcbench
