#include "executors/commands/batch_tools.hpp"

#include <re2/re2.h>

#include <utility>

namespace hpcbench {

namespace {

std::unique_ptr<re2::RE2> compiled(const std::optional<std::string>& pattern) {
  return pattern ? std::make_unique<re2::RE2>(*pattern, re2::RE2::Quiet) : nullptr;
}

void replace_each(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

BatchTools::BatchTools(const BatchSystem& system)
    : id_(compiled(system.id)), later_(compiled(system.later)), job_(compiled(system.job)), empty_(compiled(system.empty)) {
  for (const std::string& state : system.waiting) phases_[state] = JobState::waiting;
  for (const std::string& state : system.running) phases_[state] = JobState::running;
  for (const std::string& state : system.stuck) phases_[state] = JobState::stuck;
  for (const std::string& state : system.ended) phases_[state] = JobState::ended;
}

BatchTools::~BatchTools() = default;

std::optional<std::string> BatchTools::id_in(const ToolResult& result) const {
  std::string id;
  if (!result.succeeded() || !re2::RE2::PartialMatch(result.output, *id_, &id) || id.empty()) return std::nullopt;
  return id;
}

bool BatchTools::says_later(const ToolResult& result) const {
  return later_ && !result.succeeded() && re2::RE2::PartialMatch(result.output + result.errors, *later_);
}

std::optional<std::vector<BatchJob>> BatchTools::jobs_in(const ToolResult& result) const {
  const bool exited = result.kind == ToolResult::Kind::exited;
  if (exited && empty_ && result.status != 0 && re2::RE2::PartialMatch(result.output + result.errors, *empty_))
    return std::vector<BatchJob>();
  if (!result.succeeded()) return std::nullopt;
  const std::map<std::string, int>& groups = job_->NamedCapturingGroups();
  std::vector<re2::StringPiece> found(static_cast<std::size_t>(job_->NumberOfCapturingGroups()) + 1);
  std::vector<BatchJob> jobs;
  const re2::StringPiece text(result.output);
  std::size_t at = 0;
  while (at <= text.size() &&
         job_->Match(text, at, text.size(), re2::RE2::UNANCHORED, found.data(), static_cast<int>(found.size()))) {
    const auto group = [&](const char* name) {
      const re2::StringPiece& piece = found[static_cast<std::size_t>(groups.at(name))];
      return std::string(piece.data(), piece.size());
    };
    BatchJob job{group("id"), group("name"), group("state")};
    if (const auto phase = phases_.find(job.state); phase != phases_.end()) job.phase = phase->second;
    jobs.push_back(std::move(job));
    const std::size_t end = static_cast<std::size_t>(found[0].data() - text.data()) + found[0].size();
    at = end > at ? end : at + 1;
  }
  return jobs;
}

std::vector<std::string> fill_command(const std::vector<std::string>& command,
                                      const std::map<std::string, std::vector<std::string>>& values) {
  std::vector<std::string> filled;
  for (const std::string& word : command) {
    std::string text = word;
    bool is_spread = false;
    for (const auto& [name, given] : values) {
      const std::string placeholder = "{{" + name + "}}";
      if (word == placeholder) {
        filled.insert(filled.end(), given.begin(), given.end());
        is_spread = true;
      } else if (!given.empty()) {
        replace_each(text, placeholder, given.front());
      }
    }
    if (!is_spread) filled.push_back(std::move(text));
  }
  return filled;
}

std::string fill_script(std::string text, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) replace_each(text, "{{" + name + "}}", value);
  return text;
}

}  // namespace hpcbench
