#include "study/watch_ends.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/clock.hpp"
#include "base/interrupt.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kMostNamed = 10;

}  // namespace

std::size_t watch_ends(const Study& study, const std::vector<CancelledJob>& asked, Executor& executor, Events& events) {
  const double patience_s = executor.end_patience_s();
  if (!asked.empty()) {
    say(fmt::format("waiting for {}, at most {:.0f} s",
                    counted(static_cast<long long>(asked.size()), "job to end", "jobs to end"), patience_s));
  }
  const std::vector<CancelledJob> left = await_ends(
      study.results, asked, executor, system_clock(), patience_s, [] { return interrupted() != 0; }, events);
  if (left.empty()) return 0;
  std::string names;
  for (std::size_t i = 0; i < std::min(left.size(), kMostNamed); ++i) {
    names +=
        fmt::format("\n  {}/{}{}", study.results, to_string(left[i].key), left[i].job.empty() ? "" : ", job " + left[i].job);
  }
  say(fmt::format(
      "{} asked to end and not seen to end yet:{}{}\n`hpcbench cancel` asks and looks again; `hpcbench status` shows "
      "where they stand.",
      counted(static_cast<long long>(left.size()), "job was", "jobs were"), names, left.size() > kMostNamed ? "\n  ..." : ""));
  return left.size();
}

}  // namespace hpcbench
