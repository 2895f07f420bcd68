#include "imports/problems.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstddef>
#include <map>

#include "base/text.hpp"

namespace hpcbench {
namespace {

constexpr std::size_t kFurtherLines = 4;

/// The problems of one file: where its message is in the result, and how many there are.
struct OfFile {
  std::size_t index = 0;
  std::size_t count = 1;
};

}  // namespace

std::vector<std::string> one_for_each_file(const std::vector<std::string>& problems) {
  static const RE2 kPlace(R"((?s)(.*?):(\d+)(?::\d+)?: error: (.*))");
  static const RE2 kOfExperimentFile(R"((?s).*?\.ya?ml:\d+:\d+: error: .*)");  // a problem of one import
  std::vector<std::string> result;
  std::map<std::string, OfFile> files;
  for (const std::string& problem : problems) {
    std::string file, line, text;
    if (RE2::FullMatch(problem, kOfExperimentFile) || !RE2::FullMatch(problem, kPlace, &file, &line, &text)) {
      result.push_back(problem);
      continue;
    }
    const auto [found, is_first] = files.try_emplace(file, OfFile{result.size()});
    if (is_first) {
      result.push_back(problem);
    } else if (++found->second.count <= 1 + kFurtherLines) {
      result[found->second.index] += fmt::format("\n  = line {}: {}", line, text.substr(0, text.find('\n')));
    }
  }
  for (const auto& [file, of_file] : files) {
    if (of_file.count > 1 + kFurtherLines)
      result[of_file.index] += fmt::format("\n  = {} lines of this file have errors", of_file.count);
  }
  return result;
}

std::vector<std::string> one_for_alike(const std::vector<std::string>& notes) {
  std::map<std::string, std::vector<std::string>> files;  // by text
  std::vector<std::string> texts;                         // in order
  for (const std::string& note : notes) {
    const std::size_t end = std::min(note.find(": "), note.size());
    std::vector<std::string>& of_text = files[note.substr(end)];
    if (of_text.empty()) texts.push_back(note.substr(end));
    of_text.push_back(note.substr(0, end));
  }
  std::vector<std::string> result;
  for (const std::string& text : texts) {
    const std::vector<std::string>& of_text = files[text];
    result.push_back(of_text.front() + (of_text.size() > 1 ? fmt::format(" and {} more", of_text.size() - 1) : "") + text);
  }
  return result;
}

}  // namespace hpcbench
