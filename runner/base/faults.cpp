#include "base/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <limits>
#include <utility>
#include <vector>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "base/value.hpp"

namespace hpcbench {

namespace {

constexpr double kLongest = 1e9;  // seconds
constexpr double kMostSlowing = 100;

constexpr std::array kSignals = {std::pair("KILL", SIGKILL), std::pair("TERM", SIGTERM), std::pair("INT", SIGINT),
                                 std::pair("HUP", SIGHUP),   std::pair("QUIT", SIGQUIT), std::pair("ABRT", SIGABRT),
                                 std::pair("SEGV", SIGSEGV), std::pair("BUS", SIGBUS),   std::pair("USR1", SIGUSR1),
                                 std::pair("USR2", SIGUSR2), std::pair("STOP", SIGSTOP)};

std::optional<double> seconds_in(const std::string& text) {
  const std::optional<double> seconds = parse_duration(text);
  return seconds && *seconds < kLongest ? seconds : std::nullopt;
}

std::optional<long long> count_in(const std::string& text, long long least) {
  const std::optional<long long> count = Value::from_plain(text).integer();
  const bool fits = count && *count >= least && *count <= std::numeric_limits<int>::max();
  return fits ? count : std::nullopt;
}

std::string set_kill(KillRank& kill, std::string_view key, const std::string& value) {
  if (key == "rank") {
    const auto rank = count_in(value, 0);
    if (!rank) return "0 or a positive integer";
    kill.rank = static_cast<int>(*rank);
  } else if (key == "signal") {
    if (!signal_number(value)) {
      std::vector<std::string> names = signal_names();
      const std::string last = std::move(names.back());
      names.pop_back();
      return join(names, ", ") + " or " + last;
    }
    kill.signal = value;
  } else if (value == "none") {
    return "";
  } else if (key == "at") {
    kill.at_s = seconds_in(value);
    if (!kill.at_s) return "a time since the ranks have started, 30s or 2m, or `none`";
  } else {
    kill.step = count_in(value, 1);
    if (!kill.step) return "a positive integer or `none`";
  }
  return "";
}

std::string set_slow(SlowNode& slow, std::string_view key, const std::string& value) {
  if (key == "node") {
    const auto node = count_in(value, 0);
    if (!node) return "0 or a positive integer";
    slow.node = static_cast<int>(*node);
  } else if (key == "by") {
    const std::optional<double> by = Value::from_plain(value).number();
    if (!by || !(*by >= 1) || *by > kMostSlowing) return "a factor from 1 (not at all) to 100";
    slow.by = *by;
  } else {
    const std::optional<double> seconds = seconds_in(value);
    if (!seconds || (key == "for" && !(*seconds > 0))) return "a time: 30s or 2m";
    (key == "for" ? slow.for_s.emplace() : slow.from_s) = *seconds;
  }
  return "";
}

/// The members of an object in their order; those without a value are left out.
class FaultFields {
 public:
  template <class T>
  void add(const char* key, const std::optional<T>& value) {
    if (value) text_ += fmt::format("{}\"{}\":{}", text_.empty() ? "" : ",", key, *value);
  }
  std::string object() const { return '{' + text_ + '}'; }

 private:
  std::string text_;
};

std::optional<int> number_at(const JsonMembers& members, const char* key) {
  const std::optional<long long> number = json_integer(find_member(members, key));
  const bool fits = number && *number >= 0 && *number <= std::numeric_limits<int>::max();
  return fits ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

}  // namespace

std::vector<std::string> signal_names() {
  std::vector<std::string> names;
  for (const auto& [name, number] : kSignals) names.emplace_back(name);
  return names;
}

std::optional<int> signal_number(std::string_view name) {
  const auto found = std::find_if(kSignals.begin(), kSignals.end(), [&](const auto& each) { return name == each.first; });
  return found == kSignals.end() ? std::nullopt : std::optional(found->second);
}

std::string set_fault(Faults& faults, std::string_view key, const std::string& value) {
  const std::string_view of = key.substr(0, key.find('.'));
  const std::string_view name = key.substr(std::min(of.size() + 1, key.size()));
  if (of == "kill_rank") {
    if (!faults.kill_rank) faults.kill_rank.emplace();
    return set_kill(*faults.kill_rank, name, value);
  }
  if (!faults.slow_node) faults.slow_node.emplace();
  return set_slow(*faults.slow_node, name, value);
}

Faults without_idle(Faults faults) {
  if (faults.kill_rank && !faults.kill_rank->at_s && !faults.kill_rank->step) faults.kill_rank.reset();
  if (faults.slow_node && !(faults.slow_node->by > 1)) faults.slow_node.reset();
  return faults;
}

std::string describe_faults(const Faults& faults) {
  std::vector<std::string> texts;
  if (const auto& kill = faults.kill_rank) {
    const std::string rank = kill->rank ? fmt::format("rank {}", *kill->rank) : "the last rank";
    texts.push_back(kill->step ? fmt::format("{} gets SIG{} at step {}", rank, kill->signal, *kill->step)
                               : fmt::format("{} gets SIG{} after {} s", rank, kill->signal, kill->at_s.value_or(0)));
  }
  if (const auto& slow = faults.slow_node) {
    const std::string node = slow->node ? fmt::format("node {}", *slow->node) : "the last node";
    texts.push_back(fmt::format("{} is slower by {} from {} s{}", node, slow->by, slow->from_s,
                                slow->for_s ? fmt::format(", for {} s", *slow->for_s) : ""));
  }
  return join(texts, "; ");
}

std::string faults_json(const Faults& faults) {
  FaultFields all;
  if (const auto& kill = faults.kill_rank) {
    FaultFields fields;
    fields.add("at_s", kill->at_s);
    if (kill->launched > 0) fields.add("launched", std::optional(kill->launched));
    fields.add("rank", kill->rank);
    if (kill->signal != "KILL") fields.add("signal", std::optional(json_quote(kill->signal)));
    fields.add("step", kill->step);
    all.add("kill_rank", std::optional(fields.object()));
  }
  if (const auto& slow = faults.slow_node) {
    FaultFields fields;
    fields.add("by", std::optional(slow->by));
    fields.add("for_s", slow->for_s);
    if (slow->from_s > 0) fields.add("from_s", std::optional(slow->from_s));
    fields.add("node", slow->node);
    all.add("slow_node", std::optional(fields.object()));
  }
  return all.object();
}

Faults parse_faults(std::string_view object) {
  Faults faults;
  JsonMembers members, fields;
  if (!scan_object(object, members)) return faults;
  const auto seconds = [&](const char* key) { return json_number(find_member(fields, key)); };
  if (scan_object(find_member(members, "kill_rank"), fields)) {
    KillRank kill;
    kill.at_s = seconds("at_s");
    kill.rank = number_at(fields, "rank");
    kill.launched = number_at(fields, "launched").value_or(0);
    kill.step = number_at(fields, "step");
    const std::string signal = json_string(find_member(fields, "signal")).value_or("");
    if (signal_number(signal)) kill.signal = signal;
    faults.kill_rank = kill;
  }
  if (scan_object(find_member(members, "slow_node"), fields)) {
    SlowNode slow;
    slow.by = std::max(1.0, seconds("by").value_or(1));
    slow.for_s = seconds("for_s");
    slow.from_s = seconds("from_s").value_or(0);
    slow.node = number_at(fields, "node");
    faults.slow_node = slow;
  }
  return without_idle(std::move(faults));
}

}  // namespace hpcbench
