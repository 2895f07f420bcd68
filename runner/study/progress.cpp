#include "study/progress.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "base/terminal.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr double kLineInterval = 5;      // seconds between lines where nobody watches
constexpr double kRedrawInterval = 0.1;  // seconds between redraws where somebody does

}  // namespace

Progress::Progress(Clock& clock, std::optional<int> slots)
    : clock_(clock), in_place_(stderr_is_terminal()), start_s_(clock.monotonic_s()), remaining_(clock, slots) {}

Progress::~Progress() { finish(); }

void Progress::begin_round(const std::string& name, const DispatchCounts& before) {
  round_ = name;
  before_round_ = before;
}

std::string Progress::text(const DispatchCounts& counts, const std::string& waiting) {
  const double elapsed_s = clock_.monotonic_s() - start_s_;
  const long long failed = counts.done - counts.succeeded;
  std::string running;  // of several studies: which
  for (const auto& [name, of_study] : studies_) {
    if (of_study.running > 0) running += (running.empty() ? "" : ", ") + name;
  }
  std::string line = round_.empty() ? "" : round_ + ": ";
  if (!studies_.empty()) line = counted(static_cast<long long>(studies_.size()), "study: ", "studies: ");
  line += fmt::format("{}/{} done, {} {}", counts.done, counts.total, counts.running,
                      waiting.empty() ? "running" : "submitted, " + waiting);
  if (!running.empty()) line += fmt::format(" ({})", running);
  if (failed > 0) line += fmt::format(", {} not succeeded", failed);
  line += ", elapsed " + human_duration(elapsed_s);
  const std::string left = remaining_.text(counts.total - counts.done);
  return left.empty() ? line : line + ", " + left;
}

void Progress::show(const DispatchCounts& all, const std::string& waiting) {
  if (is_quiet()) return;
  DispatchCounts counts = all;
  counts.total -= before_round_.done;
  counts.done -= before_round_.done;
  counts.succeeded -= before_round_.succeeded;
  const double now_s = clock_.monotonic_s();
  if (now_s - last_s_ < (in_place_ ? kRedrawInterval : kLineInterval)) return;
  last_s_ = now_s;
  const std::string line = text(counts, waiting);
  if (line == shown_) return;
  shown_ = line;
  if (in_place_) {
    constexpr int kWidth = 40;
    const auto filled = counts.total > 0 ? static_cast<int>(kWidth * counts.done / counts.total) : 0;
    fmt::print(stderr, "\r\033[K[{}{}] {}", std::string(static_cast<std::size_t>(filled), '#'),
               std::string(static_cast<std::size_t>(kWidth - filled), '.'), line);
    std::fflush(stderr);
  } else {
    fmt::print(stderr, "{}\n", line);
  }
}

void Progress::show_of(const std::string& study, const DispatchCounts& counts, const std::string& waiting) {
  count_of(study, counts);
  DispatchCounts all;
  for (const auto& [name, each] : studies_) {
    all.total += each.total;
    all.done += each.done;
    all.succeeded += each.succeeded;
    all.running += each.running;
  }
  show(all, waiting);
}

void Progress::print(const std::string& line) {
  if (in_place_ && !shown_.empty()) fmt::print(stderr, "\r\033[K");
  say(line);
  shown_.clear();
}

void Progress::finish() {
  if (in_place_ && !shown_.empty()) fmt::print(stderr, "\n");
  shown_.clear();
}

}  // namespace hpcbench
