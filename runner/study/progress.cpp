#include "study/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/terminal.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr double kLineInterval = 5;      // seconds between lines where nobody watches
constexpr double kRedrawInterval = 0.1;  // seconds between redraws where somebody does

}  // namespace

Progress::Progress(Clock& clock, std::optional<int> slots, std::size_t studies)
    : clock_(clock), slots_(slots), studies_(studies), in_place_(stderr_is_terminal()), start_s_(clock.monotonic_s()) {
  remaining_.emplace(clock, slots);
}

Progress::~Progress() { finish(); }

void Progress::begin_round(const std::string& study, const std::string& name, const OutcomeCounts& before) {
  if (studies_ > 1) {
    OutcomeCounts& outside = outside_[study];
    outside.ended = std::max(0LL, outside.ended + counts_[study].ended - before.ended);
    outside.succeeded = std::max(0LL, outside.succeeded + counts_[study].succeeded - before.succeeded);
    outside.asked = outside.ended;
    count(study, before);
    return;
  }
  count(study, before);
  start_s_ = clock_.monotonic_s();
  last_s_ = -1e9;
  remaining_.emplace(clock_, slots_);
  round_ = name;
  before_round_ = name.empty() ? OutcomeCounts() : before;
}

OutcomeCounts Progress::all_counts() const {
  OutcomeCounts all;
  for (const auto* const counts : {&counts_, &outside_}) {
    for (const auto& [name, each] : *counts) {
      all.asked += each.asked;
      all.ended += each.ended;
      all.succeeded += each.succeeded;
      all.running += each.running;
    }
  }
  all.asked -= before_round_.ended;
  all.ended -= before_round_.ended;
  all.succeeded -= before_round_.succeeded;
  return all;
}

std::string Progress::text(const OutcomeCounts& counts, const std::string& waiting) {
  const double elapsed_s = clock_.monotonic_s() - start_s_;
  const long long failed = counts.ended - counts.succeeded;
  std::string running;  // of several studies: which
  for (const auto& [name, of_study] : counts_) {
    if (studies_ > 1 && of_study.running > 0) running += (running.empty() ? "" : ", ") + name;
  }
  std::string line = round_.empty() ? "" : round_ + ": ";
  if (studies_ > 1) line = fmt::format("{} studies: ", studies_);
  line += fmt::format("{}/{} done, {} {}", counts.ended, counts.asked, counts.running,
                      waiting.empty() ? "running" : "submitted, " + waiting);
  if (!running.empty()) line += fmt::format(" ({})", running);
  if (failed > 0) line += fmt::format(", {} not succeeded", failed);
  line += ", elapsed " + human_duration(elapsed_s);
  const std::string left = remaining_->text(counts.asked - counts.ended);
  return left.empty() ? line : line + ", " + left;
}

void Progress::show(const std::string& study, const OutcomeCounts& of_study, const std::string& waiting) {
  count(study, of_study);
  if (is_quiet()) return;
  const OutcomeCounts counts = all_counts();
  const double now_s = clock_.monotonic_s();
  if (now_s - last_s_ < (in_place_ ? kRedrawInterval : kLineInterval)) return;
  last_s_ = now_s;
  const std::string line = text(counts, waiting);
  if (line == shown_) return;
  shown_ = line;
  if (in_place_) {
    constexpr int kWidth = 40;
    const auto filled = counts.asked > 0 ? static_cast<int>(kWidth * counts.ended / counts.asked) : 0;
    fmt::print(stderr, "\r\033[K[{}{}] {}", std::string(static_cast<std::size_t>(filled), '#'),
               std::string(static_cast<std::size_t>(kWidth - filled), '.'), line);
    std::fflush(stderr);
  } else {
    fmt::print(stderr, "{}\n", line);
  }
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
