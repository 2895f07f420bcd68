#include "study/failure_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace hpcbench {

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The reason without what differs from run to run: numbers (ranks, steps, addresses) other than exit codes and signals, and
/// the names of configuration and run.
std::string kind_of_failure(State state, const std::string& reason, const AttemptKey& attempt) {
  std::string text = reason;
  for (std::size_t at = text.find(attempt.config_id); at != std::string::npos && !attempt.config_id.empty();
       at = text.find(attempt.config_id))
    text.replace(at, attempt.config_id.size(), "*");
  std::string kind = std::string(to_string(state)) + ": ";
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit(text[i])) {
      kind += text[i++];
      continue;
    }
    const bool says_how = kind.ends_with("exit code ") || kind.ends_with("signal ");
    const bool is_address = text[i] == '0' && i + 1 < text.size() && text[i + 1] == 'x';
    std::size_t end = is_address ? i + 2 : i;
    while (end < text.size() && (is_digit(text[end]) || (is_address && std::isxdigit(static_cast<unsigned char>(text[end])))))
      ++end;
    kind += says_how ? text.substr(i, end - i) : "#";
    i = end;
  }
  return kind;
}

/// ` (6 have failed in all)`, where some failed in earlier calls.
std::string failed_in_all(long long failures, const FailureLimits& limits) {
  return limits.failed_before == 0 ? "" : fmt::format(" ({} have failed in all)", failures + limits.failed_before);
}

}  // namespace

bool is_own_failure(State state) { return state == State::failed || state == State::timeout || state == State::out_of_memory; }

bool FailureWatch::note_failure(const AttemptKey& attempt, State state, const std::string& reason) {
  const std::string name = kind_of_failure(state, reason, attempt);
  const auto [found, is_new] = kinds_.try_emplace(name, Kind{state, reason, 0});
  ++found->second.count;
  if (is_own_failure(state)) {
    ++failures_;
    ++failed_[attempt.config_id];
    own_failures_.emplace(attempt, name);
  } else {
    others_ = true;
  }
  return is_new;
}

void FailureWatch::forgive(const AttemptKey& attempt) {
  const auto found = own_failures_.find(attempt);
  if (found == own_failures_.end()) return;
  --kinds_.at(found->second).count;
  --failures_;
  if (const auto configuration = failed_.find(attempt.config_id); --configuration->second == 0) failed_.erase(configuration);
  own_failures_.erase(found);
}

std::optional<std::string> FailureWatch::reason_to_stop(const FailureLimits& limits) const {
  if (limits.most && failures_ >= *limits.most) {
    return fmt::format("{} run{} of this call did not succeed (--max-failures {}){}", failures_, failures_ == 1 ? "" : "s",
                       *limits.most, failed_in_all(failures_, limits));
  }
  if (limits.keep_going || limits.any_succeeded || succeeded_ || others_) return std::nullopt;
  const auto kinds = std::count_if(kinds_.begin(), kinds_.end(), [](const auto& each) { return each.second.count > 0; });
  if (failures_ < 2 || kinds != 1 || failed_.size() < limits.to_run.size()) return std::nullopt;
  const std::string in_all = failed_in_all(failures_, limits);
  if (failed_.size() > 1)
    return fmt::format("a run of each of {} configurations failed in the same way{}", failed_.size(), in_all);
  return fmt::format("the first {} runs{} failed in the same way{}", failures_, in_all.empty() ? "" : " of this call", in_all);
}

std::vector<std::string> FailureWatch::repeated() const {
  std::vector<std::string> lines;
  for (const auto& [name, kind] : kinds_) {
    if (kind.count > 1)
      lines.push_back(fmt::format("{} runs {}, all in this way: {}", kind.count, to_string(kind.state), kind.reason));
  }
  return lines;
}

}  // namespace hpcbench
