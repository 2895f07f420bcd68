#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/status_view.hpp"

namespace hpcbench {

/// What `hpcbench watch` shows at one moment, and where.
struct WatchScene {
  std::string problem;  // why something is unknown; empty: all is known
  double now_unix_s = 0;
  double looked_s_ago = 0;
  int columns = 80;  // of the terminal
  int rows = 24;
};

/// The lines of a screen: counts with a bar, who runs it, then runs, those that move first, as many as there is room for. At
/// most `rows` - 1 lines, none wider than `columns`, none with control characters.
std::vector<std::string> watch_screen(const StatusView& view, const WatchScene& scene);

/// A line for each run that is not as it was (state, attempt, job, node, why); elapsed times do not count. Where nothing was
/// before: the counts, then the runs that are neither planned nor succeeded.
std::vector<std::string> watch_changes(const std::optional<StatusView>& before, const StatusView& now, double now_unix_s);

/// Whether something may still change of its own accord: a `hpcbench run` goes on, or a job waits or runs, or nothing is known
/// of one.
bool is_worth_watching(const StatusView& view);

/// Seconds until the next look: 5 % of the time since anything changed, from 1 s to `longest_s`, and never so often that
/// looking takes more than a twentieth of the time.
double watch_interval(double since_change_s, double look_took_s, double longest_s);

/// The beginning of a text that fits in so many columns of a terminal (two for wide characters), ending in `~` if it is cut.
std::string fit_columns(const std::string& text, int columns);

}  // namespace hpcbench
