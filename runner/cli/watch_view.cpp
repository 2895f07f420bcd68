#include "cli/watch_view.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "study/live_status.hpp"

namespace hpcbench {

namespace {

constexpr int kBarWidth = 30;
constexpr std::size_t kShownIdDigits = 8;  // of a configuration's id

/// What moves comes first, then what went wrong, then what went well; within each the latest first.
int rank_on_screen(const RunStatus& run) {
  switch (run.state) {
    case State::running:
      return 0;
    case State::submitted:
      return 1;
    case State::intended:
      return 2;
    case State::succeeded:
      return 4;
    case State::planned:
      return 5;
    default:
      return 3;
  }
}

std::vector<const RunStatus*> in_screen_order(const StatusView& view) {
  std::vector<const RunStatus*> runs;
  for (const RunStatus& run : view.runs) {
    if (run.attempt) runs.push_back(&run);
  }
  const auto finished = [](const RunStatus* run) { return run->attempt->finished_unix_s.value_or(0); };
  std::stable_sort(runs.begin(), runs.end(), [&](const RunStatus* a, const RunStatus* b) {
    if (rank_on_screen(*a) != rank_on_screen(*b)) return rank_on_screen(*a) < rank_on_screen(*b);
    return is_outcome(a->state) && finished(a) > finished(b);
  });
  return runs;
}

using ScreenRow = std::array<std::string, 6>;

/// `3f2a0000/r01/a1`: enough for `hpcbench show`.
std::string short_name(const RunStatus& run) {
  const std::size_t slash = run.run.find('/');
  return fmt::format("{}{}/a{}", run.run.substr(0, std::min(slash, kShownIdDigits)), run.run.substr(slash),
                     run.attempt->key.attempt);
}

ScreenRow screen_row(const RunStatus& run, double now_unix_s) {
  const AttemptRecord& attempt = *run.attempt;
  const std::optional<double> elapsed = elapsed_s(attempt, now_unix_s);
  std::string what = attempt.reason.value_or("");
  const auto add = [&](const std::string& text) { what += (what.empty() ? "" : "; ") + text; };
  if (run.expected_start && !is_outcome(run.state)) add("expected start " + *run.expected_start);
  const bool had_job = run.state == State::submitted || run.state == State::running;
  if (had_job && run.job == JobState::ended) add("its job has ended; `hpcbench run` settles it");
  const std::string axes = describe(run.axes);
  return {short_name(run),
          std::string(shown_name(run.state)),
          elapsed ? human_duration(*elapsed) : "-",
          printable(attempt.job.value_or("-")),
          printable(attempt.node.value_or("-")),
          printable(what.empty() ? axes : what + "  " + axes)};
}

int columns_of(const std::string& text) {
  int columns = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  while (left > 0) {
    utf8proc_int32_t character = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(bytes, left, &character);
    columns += length < 1 ? 1 : utf8proc_charwidth(character);
    bytes += std::max<utf8proc_ssize_t>(length, 1);
    left -= std::max<utf8proc_ssize_t>(length, 1);
  }
  return columns;
}

/// Columns as wide as they need to be; the last one is not padded.
std::vector<std::string> aligned(const std::vector<ScreenRow>& rows) {
  ScreenRow none;
  std::array<int, none.size()> widths{};
  for (const ScreenRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  std::vector<std::string> lines;
  for (const ScreenRow& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      line += row[i] + std::string(static_cast<std::size_t>(widths[i] - columns_of(row[i]) + 2), ' ');
    lines.push_back(line + row.back());
  }
  return lines;
}

/// On a narrow terminal the bar goes first, then the end of the name: the counts say most.
std::string progress_line(const StatusView& view, int columns) {
  if (view.runs.empty()) return printable(headline(view));
  const long long ended = view.counts.ended();
  const auto total = static_cast<long long>(view.runs.size()) - view.set_aside;
  const auto filled = static_cast<std::size_t>(total > 0 ? kBarWidth * ended / total : 0);
  const std::string name = printable(view.experiment);
  const std::string counts = fmt::format("{}/{} done: {}", ended, total, view.counts.text());
  const std::string whole =
      fmt::format("{}  [{}{}] {}", name, std::string(filled, '#'), std::string(kBarWidth - filled, '.'), counts);
  if (columns_of(whole) <= columns) return whole;
  return fmt::format("{}  {}", fit_columns(name, std::max(2, columns - columns_of(counts) - 2)), counts);
}

std::string owner_line(const StatusView& view, const WatchScene& scene) {
  const std::string seen = scene.looked_s_ago < 1.5 ? "" : fmt::format("; seen {:.0f} s ago", scene.looked_s_ago);
  return owner_text(view) + seen + ". Ctrl-C leaves everything running.";
}

/// All of it but times.
std::string fingerprint(const RunStatus& run) { return run_line(run, std::nullopt); }

}  // namespace

std::string fit_columns(const std::string& text, int columns) {
  if (columns_of(text) <= columns) return text;
  std::string fitted;
  int used = 0;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  while (left > 0) {
    utf8proc_int32_t character = 0;
    const utf8proc_ssize_t length = utf8proc_iterate(bytes, left, &character);
    const utf8proc_ssize_t step = std::max<utf8proc_ssize_t>(length, 1);
    const int width = length < 1 ? 1 : utf8proc_charwidth(character);
    if (used + width > columns - 1) break;
    fitted.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(step));
    used += width;
    bytes += step;
    left -= step;
  }
  return columns > 0 ? fitted + "~" : fitted;
}

std::vector<std::string> watch_screen(const StatusView& view, const WatchScene& scene) {
  const auto room = static_cast<std::size_t>(std::max(1, scene.rows - 1));
  std::vector<std::string> lines = {progress_line(view, scene.columns), owner_line(view, scene)};
  if (!scene.problem.empty()) lines.push_back(printable(scene.problem));
  const std::vector<const RunStatus*> runs = in_screen_order(view);
  if (!runs.empty() && lines.size() + 4 <= room) {  // a blank line, the header, a run and the last line
    lines.emplace_back();
    std::size_t shown = room - lines.size() - 1;
    if (shown < runs.size()) --shown;  // the last line says how many more there are
    shown = std::min(shown, runs.size());
    std::vector<ScreenRow> rows = {{"RUN", "STATE", "TIME", "JOB", "NODE", "CONFIGURATION"}};
    for (std::size_t i = 0; i < shown; ++i) rows.push_back(screen_row(*runs[i], scene.now_unix_s));
    for (std::string& line : aligned(rows)) lines.push_back(std::move(line));
    if (shown < runs.size()) lines.push_back(fmt::format("... and {} more (hpcbench status)", runs.size() - shown));
  }
  if (lines.size() > room) lines.resize(room);
  for (std::string& line : lines) line = fit_columns(line, scene.columns);
  return lines;
}

std::vector<std::string> watch_changes(const std::optional<StatusView>& before, const StatusView& now, double now_unix_s) {
  std::vector<std::string> lines;
  if (!before) lines.push_back(headline(now));
  for (std::size_t i = 0; i < now.runs.size(); ++i) {
    const RunStatus& run = now.runs[i];
    // The experiment file is read once, so the same runs are asked for in the same order.
    const bool changed = before ? fingerprint(before->runs.at(i)) != fingerprint(run)
                                : run.state != State::planned && run.state != State::succeeded;
    if (changed) lines.push_back(run_line(run, now_unix_s));
  }
  return lines;
}

bool is_worth_watching(const StatusView& view) {
  if (view.owner) return true;
  return std::any_of(view.runs.begin(), view.runs.end(), [](const RunStatus& run) {
    return run.attempt && !is_outcome(run.state) && run.state != State::planned && run.job != JobState::ended;
  });
}

double watch_interval(double since_change_s, double look_took_s, double longest_s) {
  constexpr double kChangeFraction = 0.05;
  constexpr double kShortest = 1;
  constexpr double kLookShare = 0.05;
  return std::max(std::clamp(since_change_s * kChangeFraction, kShortest, longest_s), look_took_s / kLookShare);
}

}  // namespace hpcbench
