#include "runfiles/rank_binding.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include "base/files.hpp"
#include "base/json_text.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"

namespace hpcbench {

namespace {

constexpr int kMostNumbers = 65536;  // of a list: no machine has more

void append_binding_line(const std::string& path, const std::string& line) {
  const Descriptor fd = open_study_file(path, O_APPEND);
  // One write: lines of several ranks do not mix. A line that is missing makes nothing look shared.
  [[maybe_unused]] const ssize_t written = ::write(fd.get(), line.data(), line.size());
}

/// Device names may be no numbers: UUIDs of parts of a GPU.
std::set<std::string> names_in(const std::string& list) {
  std::set<std::string> names;
  for (const std::string& item : split(list, ',')) {
    const std::vector<int> numbers = parse_number_list(item);
    if (numbers.empty()) names.insert(item);
    for (const int number : numbers) names.insert(std::to_string(number));
  }
  names.erase("");
  return names;
}

std::string common_numbers(const std::string& a, const std::string& b) {
  const std::vector<int> left = parse_number_list(a), right = parse_number_list(b);
  std::vector<int> common;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(common));
  return number_list(common);
}

std::string common_names(const std::string& a, const std::string& b) {
  const std::set<std::string> left = names_in(a), right = names_in(b);
  std::vector<std::string> common;
  std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(common));
  return join(common, ",");
}

std::string plural(const char* one, const char* many, const std::string& list) {
  const bool several = list.find(',') != std::string::npos || parse_number_list(list).size() > 1;
  return fmt::format("{} {}", several ? many : one, list);
}

bool went_on_together(const RankBinding& a, const RankBinding& b, const std::function<bool(int)>& is_alive) {
  const auto end_of = [&](const RankBinding& rank) {
    if (rank.to_s) return *rank.to_s;
    return is_alive(rank.pid) ? std::numeric_limits<double>::infinity() : rank.from_s;
  };
  return a.from_s <= end_of(b) && b.from_s <= end_of(a);
}

std::optional<Sharing> sharing_of(const RankBinding& a, const RankBinding& b, bool may_share_numa) {
  if (const std::string list = common_numbers(a.cores, b.cores); !list.empty())
    return Sharing{Shared::cores, plural("core", "cores", list), b.run};
  if (const std::string list = common_names(a.gpus, b.gpus); !list.empty())
    return Sharing{Shared::gpus, plural("GPU", "GPUs", list), b.run};
  if (may_share_numa) return std::nullopt;
  const std::string list = common_numbers(a.numa, b.numa);
  return list.empty() ? std::nullopt : std::optional(Sharing{Shared::numa, plural("NUMA node", "NUMA nodes", list), b.run});
}

void take_end(std::vector<RankBinding>& bindings, const std::string& run, int rank, double to_s) {
  const auto found = std::find_if(bindings.rbegin(), bindings.rend(),
                                  [&](const RankBinding& each) { return each.run == run && each.rank == rank; });
  if (found != bindings.rend()) found->to_s = to_s;
}

}  // namespace

std::string attempt_path(const std::string& attempt_folder) {
  const std::vector<std::string> names = split(attempt_folder, '/');
  const std::size_t first = names.size() > 3 ? names.size() - 3 : 0;
  return join({names.begin() + static_cast<std::ptrdiff_t>(first), names.end()}, "/");
}

void note_binding(const std::string& path, const RankBinding& binding) {
  JsonWriter json;
  json.begin_object().member("run", binding.run).member("rank", binding.rank).member("pid", binding.pid);
  json.member("cpus", binding.cpus).member("cores", binding.cores).member("numa", binding.numa).member("gpus", binding.gpus);
  append_binding_line(path, json.member("from_s", json_time(binding.from_s, 6)).end().take() + "\n");
}

void note_binding_end(const std::string& path, const std::string& run, int rank, double to_s) {
  JsonWriter json;
  json.begin_object().member("run", run).member("rank", rank).member("to_s", json_time(to_s, 6)).end();
  append_binding_line(path, json.take() + "\n");
}

std::vector<RankBinding> read_bindings(const std::string& path) {
  std::vector<RankBinding> bindings;
  JsonMembers members;
  for (const std::string& line : split(read_file_if_there(path).value_or(""), '\n')) {
    if (!scan_object(line, members)) continue;
    const auto text = [&](const char* key) { return printable(json_string(find_member(members, key)).value_or("")); };
    const auto number = [&](const char* key) { return static_cast<int>(json_integer(find_member(members, key)).value_or(0)); };
    const auto from_s = json_number(find_member(members, "from_s"));
    const auto to_s = json_number(find_member(members, "to_s"));
    if (from_s) {
      bindings.push_back({text("run"), number("rank"), number("pid"), text("cpus"), text("cores"), text("numa"), text("gpus"),
                          *from_s, std::nullopt});
    } else if (to_s) {
      take_end(bindings, text("run"), number("rank"), *to_s);
    }
  }
  return bindings;
}

std::vector<int> parse_number_list(std::string_view list) {
  std::set<int> numbers;
  for (const std::string& text : split(list, ',')) {
    const std::string_view item = trim(text);
    const std::size_t dash = item.find('-');
    const std::optional<int> first = whole_number(item.substr(0, dash));
    const std::optional<int> last = dash == std::string_view::npos ? first : whole_number(item.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= kMostNumbers) break;
    for (int number = *first; number <= *last; ++number) numbers.insert(number);
  }
  return {numbers.begin(), numbers.end()};
}

std::string number_list(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) ++i;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[first]);
    if (i > first) text += fmt::format("-{}", numbers[i]);
  }
  return text;
}

std::optional<Sharing> find_sharing(const std::vector<RankBinding>& bindings, const std::string& run, bool may_share_numa,
                                    const std::function<bool(int pid)>& is_alive) {
  std::optional<Sharing> worst;
  for (const RankBinding& own : bindings) {
    if (own.run != run) continue;
    for (const RankBinding& other : bindings) {
      if (other.run == run || !went_on_together(own, other, is_alive)) continue;
      const std::optional<Sharing> sharing = sharing_of(own, other, may_share_numa);
      if (sharing && (!worst || sharing->kind < worst->kind)) worst = sharing;
    }
  }
  return worst;
}

std::string describe_binding(const std::vector<RankBinding>& bindings, const std::string& run) {
  std::set<int> cores, numa;
  std::set<std::string> gpus;
  for (const RankBinding& binding : bindings) {
    if (binding.run != run) continue;
    for (const int core : parse_number_list(binding.cores)) cores.insert(core);
    for (const int node : parse_number_list(binding.numa)) numa.insert(node);
    gpus.merge(names_in(binding.gpus));
  }
  if (cores.empty()) return "";
  std::string text = plural("core", "cores", number_list({cores.begin(), cores.end()}));
  if (!numa.empty()) text += " of " + plural("NUMA node", "NUMA nodes", number_list({numa.begin(), numa.end()}));
  if (!gpus.empty()) text += ", " + plural("GPU", "GPUs", join({gpus.begin(), gpus.end()}, ","));
  return text;
}

std::string refusal_of(const Sharing& sharing, const std::string& run, const std::string& node) {
  const char* advice = "";
  switch (sharing.kind) {
    case Shared::cores:
      advice =
          "Slurm bound them to no cores of their own: it does with TaskPlugin=task/affinity, or task/cgroup and "
          "ConstrainCores; "
          "else remove `side_by_side` from `allocation`";
      break;
    case Shared::gpus:
      advice =
          "Slurm gave them no GPUs of their own: name `gres_type` in the site or `gres` in `resources`, say `gpus_per_node: "
          "[0]` "
          "where the program uses none, or remove `side_by_side` from `allocation`";
      break;
    case Shared::numa:
      advice =
          "they share its memory bandwidth: say `numa: shared` in `allocation` where that may be, ask for the cores of a whole "
          "NUMA node (`cpus_per_task`), or remove `side_by_side`";
      break;
  }
  return fmt::format("runs side by side shared {} on {} ({} and {}): {}", sharing.what, node, run, sharing.with, advice);
}

}  // namespace hpcbench
