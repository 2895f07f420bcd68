#include "ingest/events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "base/written_number.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kLongestEvent = std::size_t{4} << 20;
constexpr std::size_t kPointsOfThinned = 1024;
constexpr long long kBadLinesTold = 10;

bool is_envelope(std::string_view key) { return key == "v" || key == "t" || key == "rank" || key == "event"; }

/// The names of a list, or one name.
std::optional<std::string> joined(std::string_view value) {
  const auto items = scan_array(value);
  if (!items) return json_scalar_text(value);
  std::vector<std::string> parts;
  for (const std::string_view item : *items) {
    if (std::optional<std::string> text = json_scalar_text(item)) parts.push_back(printable(*text));
  }
  return join(parts, ",");
}

/// A number of JSON, or a text that holds a plain one: `"0.4391"`.
std::optional<double> event_number(std::string_view value) {
  const std::optional<std::string> text = json_string(value);
  if (!text) return json_number(value);
  const WrittenNumber number = read_written_number(*text, DecimalMark::unknown);
  return number.kind == WrittenNumber::Kind::number && number.unit.empty() ? std::optional(number.value) : std::nullopt;
}

/// `hosts` names one a rank: each is a node once.
std::optional<std::string> distinct_hosts(std::string_view value) {
  std::vector<std::string> hosts;
  for (std::string& host : split(joined(value).value_or(""), ',')) {
    if (!host.empty() && std::find(hosts.begin(), hosts.end(), host) == hosts.end()) hosts.push_back(std::move(host));
  }
  return hosts.empty() ? std::nullopt : std::optional(join(hosts, ","));
}

}  // namespace

void EventReader::feed(std::string_view piece) {
  while (!piece.empty()) {
    const std::size_t newline = piece.find('\n');
    const std::string_view part = piece.substr(0, newline);
    if (pending_.size() + part.size() > kLongestEvent) {
      too_long_ = true;
      pending_.clear();
    }
    if (newline == std::string_view::npos) {
      if (!too_long_) pending_ += part;
      return;
    }
    ++line_;
    if (too_long_) {
      bad_line("longer than 4 MiB");
    } else if (pending_.empty()) {
      if (!read_line(part)) bad_line("not JSON");
    } else {
      pending_ += part;
      if (!read_line(pending_)) bad_line("not JSON");
    }
    pending_.clear();
    too_long_ = false;
    piece.remove_prefix(newline + 1);
  }
}

EventSummary EventReader::finish() {
  ++line_;
  // A kill in the middle of a write is normal: what is no whole event then is no mistake of anybody.
  read_line(pending_);
  if (bad_lines_ > kBadLinesTold) {
    summary_.warnings.push_back(fmt::format("{}: {} more lines are not JSON", file_, bad_lines_ - kBadLinesTold));
  }
  for (auto& [name, points] : points_) {
    if (points.stride > 1 && points.kept.back().index != points.last.index) points.kept.push_back(points.last);
    for (SeriesPoint& point : points.kept) summary_.series.push_back(std::move(point));
  }
  return std::move(summary_);
}

void EventReader::bad_line(std::string_view why) {
  if (++bad_lines_ <= kBadLinesTold) summary_.warnings.push_back(fmt::format("{}:{}: {}", file_, line_, why));
}

/// False if the line is neither blank nor a JSON object.
bool EventReader::read_line(std::string_view line) {
  if (trim(line).empty()) return true;
  if (!scan_object(line, members_)) return false;
  const std::string_view event = find_member(members_, "event");
  if (event == "\"step\"") {
    read_step();
  } else if (event == "\"epoch\"") {
    read_epoch(false);
  } else if (event == "\"eval\"") {
    read_epoch(true);
  } else if (event == "\"run_start\"") {
    read_start();
  } else if (event == "\"error\"") {
    read_error();
  } else if (event == "\"run_end\"") {
    for (const JsonMember& member : members_) {
      const std::optional<double> number = event_number(member.value);
      if (!is_envelope(member.key)) note_finite(printable(member.key), member.value);
      if (number && !is_envelope(member.key)) summary_.run_end[printable(member.key)] = *number;
    }
  }
  return true;
}

void EventReader::read_start() {
  const JsonMembers fields = std::exchange(members_, {});
  for (const JsonMember& field : fields) {
    if (is_envelope(field.key)) continue;
    if (field.key == "hosts") {
      summary_.hosts = distinct_hosts(field.value);
    } else if (scan_object(field.value, members_)) {
      // `versions` and the like: each member is a fact of its own.
      for (const JsonMember& member : members_) {
        if (const auto text = json_scalar_text(member.value)) summary_.facts[printable(member.key)] = printable(*text);
      }
    } else if (const std::optional<std::string> text = joined(field.value)) {
      summary_.facts[printable(field.key)] = printable(*text);
    }
  }
}

void EventReader::read_step() {
  ++steps_;
  const std::string_view text = find_member(members_, "loss");
  const std::optional<double> loss = event_number(text);
  if (!text.empty()) note_finite("loss", text);
  if (loss) keep("loss", json_integer(find_member(members_, "step")).value_or(steps_), *loss, true);
}

void EventReader::read_epoch(bool evaluation) {
  long long& count = evaluation ? evaluations_ : epochs_;
  const long long epoch = json_integer(find_member(members_, "epoch")).value_or(count + 1);
  count = epoch < (1LL << 53U) ? epoch : count;
  // A value that the last epoch could not give (NaN) is absent: an earlier epoch's would be taken for it.
  if (last_epoch_ != epoch) summary_.last_values.clear();
  last_epoch_ = epoch;
  for (const JsonMember& member : members_) {
    const std::optional<double> number = event_number(member.value);
    if (is_envelope(member.key) || member.key == "epoch") continue;
    const std::string name = printable(member.key);
    note_finite(name, member.value);
    if (!number) continue;
    keep(name, epoch, *number, false);
    if (name == "samples" || name == "optimizer_steps" || name == "tokens") {
      if (!evaluation) summary_.totals[name] += *number;
    } else if (name != "epoch_s" && name != "eval_s") {
      summary_.last_values[name] = *number;
    }
  }
}

void EventReader::note_finite(const std::string& name, std::string_view value) {
  if (is_not_finite(json_scalar_text(value).value_or(""))) {
    summary_.not_finite.insert(name);
  } else {
    summary_.not_finite.erase(name);
  }
}

void EventReader::read_error() {
  const auto text = [this](std::string_view key) {
    return printable(json_scalar_text(find_member(members_, key)).value_or(std::string()));
  };
  ErrorEvent error{text("text"), text("code"), text("cause"), text("operation"), json_integer(find_member(members_, "step"))};
  if (error.code == "out_of_memory" && !summary_.out_of_memory) summary_.out_of_memory = error;
  if (error.code == "nan_loss" && !summary_.diverged) summary_.diverged = error;
  if (!summary_.first_error) summary_.first_error = std::move(error);
}

void EventReader::keep(const std::string& name, long long index, double value, bool thinned) {
  Points& points = points_[name];
  points.last = {name, index, value};
  if (points.seen++ % points.stride != 0) return;
  if (thinned && points.kept.size() == kPointsOfThinned) {
    std::size_t half = 0;
    for (std::size_t i = 0; i < points.kept.size(); i += 2) std::swap(points.kept[half++], points.kept[i]);
    points.kept.resize(half);
    points.stride *= 2;
    if ((points.seen - 1) % points.stride != 0) return;
  }
  points.kept.push_back(points.last);
}

EventSummary parse_events(std::string_view text, const std::string& file) {
  EventReader reader(file);
  reader.feed(text);
  return reader.finish();
}

}  // namespace hpcbench
