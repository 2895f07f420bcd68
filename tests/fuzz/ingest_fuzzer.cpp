// libFuzzer entry: any bytes in a run directory are read to values. The first byte selects the file. No exception is expected
// at all: every one, and every crash, leak or undefined behaviour, is a finding.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/written_number.hpp"
#include "ingest/events.hpp"
#include "ingest/metric_scan.hpp"
#include "ingest/outcome.hpp"
#include "ingest/terminal_text.hpp"
#include "runfiles/claim.hpp"
#include "runfiles/run_info.hpp"

namespace {

using namespace hpcbench;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Read at once and in two pieces: the same.
void read_events(std::string_view text) {
  const EventSummary whole = parse_events(text, "events.jsonl");
  EventReader reader("events.jsonl");
  reader.feed(text.substr(0, text.size() / 2));
  reader.feed(text.substr(text.size() / 2));
  const EventSummary pieces = reader.finish();
  require(whole.warnings == pieces.warnings && whole.run_end == pieces.run_end && whole.series.size() == pieces.series.size());
  for (const auto& [name, fact] : whole.facts) require(is_utf8(name) && is_utf8(fact));
}

void read_ending(std::string_view text) {
  const std::size_t cut = text.find('\n');
  const Finished finished = parse_finished(text.substr(0, cut));
  const std::string_view events = cut == std::string_view::npos ? std::string_view() : text.substr(cut);
  FailureEvidence evidence;
  evidence.error = parse_events(events, "events.jsonl").first_error;
  const Outcome outcome = decide_outcome(finished, RunInfo(), evidence, std::nullopt);
  require(is_outcome(outcome.state));
  require(outcome.reason.has_value() == (outcome.state != State::succeeded));
  if (outcome.reason) require(is_utf8(*outcome.reason));
}

/// The first line is the pattern, the rest the log.
void scan(std::string_view text, bool series) {
  const std::size_t cut = text.find('\n');
  constexpr std::size_t kLongestPattern = 200;
  if (cut == std::string_view::npos || cut > kLongestPattern) return;
  const MetricMatches matches = scan_metric(text.substr(cut + 1), {"m", "", std::string(text.substr(0, cut)), "",
                                                                   series ? std::optional<std::string>("step") : std::nullopt});
  // A last match that is no finite number leaves the value absent.
  require(matches.value ? matches.count > 0 : matches.count == 0 || matches.not_numbers + matches.not_finite > 0);
  if (series) require(matches.series.size() == static_cast<std::size_t>(matches.count));
}

/// Numbers, of which a pattern may have captured a part.
void read_numbers(std::string_view text) {
  using Kind = WrittenNumber::Kind;
  for (const DecimalMark mark : {DecimalMark::unknown, DecimalMark::point, DecimalMark::comma}) {
    const WrittenNumber number = read_written_number(text, mark);
    require(number.kind != Kind::number || (std::isfinite(number.value) && number.why.empty()));
    require(number.kind != Kind::unclear || mark == DecimalMark::unknown);
  }
  for (const char* unit : {"", "s", "bytes", "%", "tokens/s"}) {
    NumberReader reader(unit);
    MarkEvidence evidence;
    evidence.add(text);
    reader.begin_file([&] { return evidence.mark(); });
    reader.read(text);
    reader.read(text.substr(0, text.size() / 2), text.substr(text.size() / 2));
  }
  for (const bool is_time : {false, true}) {
    const std::string_view whole = whole_number(text, 0, text.size() / 2, is_time);
    require(whole.data() == text.data() && whole.size() >= text.size() / 2 && whole.size() <= text.size());
  }
}

void read_terminal_text(std::string_view text) {
  const TerminalText shown(text);
  require(shown.text().find('\x1b') == std::string_view::npos || shown.text().size() <= text.size());
  require(shown.lines_before(shown.text().size()) == std::count(text.begin(), text.end(), '\n'));
}

void read_bindings(std::string_view text) {
  const Bindings bindings = json_bindings(text);
  require(json_bindings(bindings_json(bindings)) == bindings);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'e':
      read_events(text);
      break;
    case 'f':
      read_ending(text);
      break;
    case 'r':
      parse_run_json(text);
      break;
    case 's':
      parse_started(text);
      break;
    case 'm':
      scan(text, false);
      break;
    case 'n':
      scan(text, true);
      break;
    case 'b':
      read_bindings(text);
      break;
    case 'w':
      read_numbers(text);
      break;
    case 'x':
      read_terminal_text(text);
      break;
    case 'c':
      parse_claim(std::string(text));
      break;
    default:
      require(is_utf8(printable(text)));
      break;
  }
  return 0;
}
