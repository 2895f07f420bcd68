#include "base/run_name.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr std::string_view kPrepare = "prepare/";

std::optional<int> positive_after(std::string_view text, char letter) {
  if (text.size() < 2 || text.front() != letter) return std::nullopt;
  int number = 0;
  const auto read = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && number > 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

char run_letter(RunKind kind) {
  switch (kind) {
    case RunKind::warmup:
      return 'w';
    case RunKind::imported:
      return 'i';
    case RunKind::preparation:
      return 'p';
    case RunKind::repeat:
      break;
  }
  return 'r';
}

std::optional<RunKind> parse_run_letter(char letter) {
  for (const RunKind kind : {RunKind::imported, RunKind::repeat, RunKind::warmup, RunKind::preparation}) {
    if (run_letter(kind) == letter) return kind;
  }
  return std::nullopt;
}

std::string to_string(RunName name) { return fmt::format("{}{:02}", run_letter(name.kind), name.number); }

std::optional<RunName> parse_run_name(std::string_view text) {
  const std::optional<RunKind> kind = text.empty() ? std::nullopt : parse_run_letter(text.front());
  const std::optional<int> number = kind ? positive_after(text, text.front()) : std::nullopt;
  if (!number || to_string(RunName{*kind, *number}) != text) return std::nullopt;
  return RunName{*kind, *number};
}

std::string to_string(const AttemptKey& key) {
  if (key.run.kind == RunKind::preparation) return fmt::format("{}{}/a{}", kPrepare, key.config_id, key.attempt);
  return fmt::format("{}/{}/a{}", key.config_id, to_string(key.run), key.attempt);
}

std::optional<AttemptKey> parse_attempt_key(std::string_view text) {
  const std::size_t first = text.find('/');
  const std::size_t last = text.rfind('/');  // an earlier slash is no part of a run's name
  if (first == last) return std::nullopt;
  const std::string_view between = text.substr(first + 1, last - first - 1);
  const bool is_preparation = text.starts_with(kPrepare);
  const std::string_view id = is_preparation ? between : text.substr(0, first);
  const std::optional<RunName> run = is_preparation ? RunName{RunKind::preparation, 1} : parse_run_name(between);
  const std::optional<int> attempt = positive_after(text.substr(last + 1), 'a');
  if (!run || !attempt || !is_plain_name(id)) return std::nullopt;
  return AttemptKey{std::string(id), *run, *attempt};
}

}  // namespace hpcbench
