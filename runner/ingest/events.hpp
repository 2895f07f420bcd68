#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_text.hpp"
#include "base/series_point.hpp"
#include "ingest/attempt_record.hpp"

namespace hpcbench {

/// An `error` event: what a program said before it failed.
struct ErrorEvent {
  std::string text;
  std::string code;
  std::string cause;
  std::string operation;
  std::optional<long long> step;
};

/// What one event file says (docs/events.md).
struct EventSummary {
  std::map<std::string, double> run_end;      // every numeric field of `run_end`
  std::map<std::string, double> last_values;  // of the last epoch's `epoch` and `eval`: train_loss, val_loss, accuracy ...
  std::map<std::string, double> totals;       // samples, optimizer_steps: sums over epochs
  std::set<std::string> not_finite;           // of these, and `loss` of steps: names whose last value is NaN or infinite
  std::map<std::string, std::string> facts;   // fields of `run_start`
  std::optional<std::string> hosts;           // of `run_start`, joined by `,`
  std::vector<SeriesPoint> series;            // sorted by name: fields of `epoch` and `eval` by epoch, `loss` by step
  std::optional<ErrorEvent> first_error;
  std::optional<ErrorEvent> out_of_memory;  // the first `error` event with that code
  std::optional<ErrorEvent> diverged;       // the first of code `nan_loss`
  std::vector<std::string> warnings;
};

/// Reads an event file piece by piece. Total: a line that is no JSON object becomes a warning with its number.
class EventReader {
 public:
  /// `file` is its name in warnings.
  explicit EventReader(std::string file) : file_(std::move(file)) {}

  /// The next bytes of the file, cut wherever.
  void feed(std::string_view piece);
  /// The end of the file: a last line without its newline counts if it is complete, and is ignored if not.
  EventSummary finish();

 private:
  /// Points of one series; `thinned` ones keep every 2^k-th, so that a million steps stay about a thousand points.
  struct Points {
    std::vector<SeriesPoint> kept;
    long long seen = 0;
    long long stride = 1;
    SeriesPoint last;
  };

  bool read_line(std::string_view line);
  void bad_line(std::string_view why);
  void read_start();
  void read_step();
  void read_epoch(bool evaluation);
  void read_error();
  /// Notes whether the last value of a field is NaN or infinite.
  void note_finite(const std::string& name, std::string_view value);
  void keep(const std::string& name, long long index, double value, bool thinned);

  std::string file_;
  EventSummary summary_;
  JsonMembers members_;
  std::map<std::string, Points> points_;
  std::string pending_;  // the part of a line that came so far
  bool too_long_ = false;
  long long line_ = 0;
  long long bad_lines_ = 0;
  long long epochs_ = 0, evaluations_ = 0, steps_ = 0;  // numbers for events that give none
  std::optional<long long> last_epoch_;
};

/// The same for a whole text.
EventSummary parse_events(std::string_view text, const std::string& file);

}  // namespace hpcbench
