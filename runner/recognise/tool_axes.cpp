#include "recognise/tool_axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>

#include "base/text.hpp"
#include "base/value.hpp"
#include "recognise/tool_tables.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kMostFacts = 24;
constexpr std::size_t kLongestValue = 80;

using Words = std::set<std::string_view>;

std::string last_part(const std::string& name) { return lower_case(name.substr(name.find_last_of("./") + 1)); }

/// True for names that number the repeats of one configuration.
bool numbers_repeats(const std::string& name) {
  static const Words kNames = {"seed",        "random_seed", "repeat",  "repetition", "repetition_index",
                               "rep",         "replicate",   "replica", "trial",      "repeat_index",
                               "trial_index", "iteration",   "run",     "run_number", "jube_wp_iteration"};
  return kNames.contains(last_part(name));
}

/// True for names of runs, times and hosts.
bool identifies_run(const std::string& name) {
  static const Words kNames = {
      "name",       "run_name",   "run_id",      "id",      "uuid",     "hash",      "date",
      "time_stamp", "timestamp",  "created",     "host",    "hostname", "user",      "notes",
      "tags",       "pid",        "jobid",       "job_id",  "commit",   "git_sha",   "description",
      "group",      "url",        "output",      "version", "port",     "run_index", "experiment_index",
      "jube_wp_id", "short_name", "unique_name", "log_file"};
  static const char* const kParts[] = {"_dir", "_path", "dir_", "path", "hostname", "nodelist", "jobid", "timestamp"};
  const std::string last = last_part(name);
  return kNames.contains(lower_case(name)) || std::any_of(std::begin(kParts), std::end(kParts), [&](const char* part) {
           return last.find(part) != std::string::npos;
         });
}

/// Long texts, and paths of which most runs have their own.
bool is_text_of_run(const std::vector<std::string>& distinct, std::size_t runs) {
  return std::any_of(distinct.begin(), distinct.end(), [&](const std::string& value) {
    const bool is_own = distinct.size() > 2 && distinct.size() * 2 > runs && value.find('/') != std::string::npos;
    return value.size() > kLongestValue || is_own || value.find('\n') != std::string::npos;
  });
}

std::string canonical(const std::string& value) { return Value::from_plain(value).canonical(); }

/// Each value once, as first spelled, in order.
std::vector<std::string> distinct_values(const std::vector<std::string>& values) {
  std::vector<std::string> kept;
  std::set<std::string> known;
  for (const std::string& value : values) {
    if (known.insert(canonical(value)).second) kept.push_back(value);
  }
  const bool are_all_numbers =
      std::all_of(kept.begin(), kept.end(), [](const std::string& value) { return Value::from_plain(value).is_number(); });
  if (are_all_numbers) {
    std::sort(kept.begin(), kept.end(),
              [](const std::string& a, const std::string& b) { return Value::from_plain(a) < Value::from_plain(b); });
  }
  return kept;
}

bool are_sizes(const std::vector<std::string>& values) {
  return std::all_of(values.begin(), values.end(), [](const std::string& value) {
    const std::optional<long long> number = Value::from_plain(value).integer();
    return number && *number > 0;
  });
}

/// Returns the size axis that a parameter stands for; empty if it is none.
std::string size_of_name(const std::string& name, bool has_nodes) {
  static const Words kNodes = {"nodes", "n_nodes", "num_nodes", "nnodes", "nnode", "number_of_nodes"};
  static const Words kGpus = {"gpus", "n_gpus", "num_gpus", "ngpus", "gpu_count", "devices", "num_devices", "n_devices"};
  static const Words kGpusOfNode = {"gpus_per_node", "num_gpus_per_node", "ngpus_per_node", "devices_per_node"};
  static const Words kRanks = {"tasks", "ntasks", "num_tasks", "n_ranks",       "nranks",   "num_ranks",
                               "ranks", "np",     "nprocs",    "num_processes", "processes"};
  static const Words kRanksOfNode = {"tasks_per_node", "num_tasks_per_node", "ntasks_per_node",
                                     "taskspernode",   "processes_per_node", "ranks_per_node"};
  const std::string last = last_part(name);
  if (kNodes.contains(last)) return "nodes";
  if (kGpusOfNode.contains(last) || (kGpus.contains(last) && !has_nodes)) return "gpus_per_node";
  if (kRanksOfNode.contains(last) || (kRanks.contains(last) && !has_nodes)) return "ranks_per_node";
  return "";
}

/// Whether each value of `from` goes with one value of `to`.
bool follows(const std::vector<std::string>& from, const std::vector<std::string>& to) {
  std::map<std::string, std::string> partner;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto [known, is_new] = partner.emplace(from[i], to[i]);
    if (!is_new && known->second != to[i]) return false;
  }
  return true;
}

std::vector<std::string> canonical_all(const std::vector<std::string>& values) {
  std::vector<std::string> texts(values.size());
  std::transform(values.begin(), values.end(), texts.begin(), canonical);
  return texts;
}

/// Texts of several columns as one, run by run.
std::vector<std::string> joined(const std::vector<const std::vector<std::string>*>& columns, std::size_t runs) {
  std::vector<std::string> texts(runs);
  for (std::size_t run = 0; run < runs; ++run) {
    for (const auto* column : columns) texts[run] += (*column)[run] + '\x1f';
  }
  return texts;
}

class AxisFinder {
 public:
  explicit AxisFinder(const ToolResults& results) : results_(results) {}

  ToolAxes find() {
    std::vector<const ToolColumn*> varied;
    for (const ToolColumn& column : results_.columns) {
      if (column.role == ToolColumn::Role::parameter) sort_column(column, varied);
    }
    leave_out_followers(varied);
    const bool has_nodes = std::any_of(varied.begin(), varied.end(),
                                       [](const ToolColumn* column) { return size_of_name(column->name, false) == "nodes"; });
    for (const ToolColumn* column : varied) add_axis(*column, has_nodes);
    group_axes();
    return std::move(found_);
  }

 private:
  void sort_column(const ToolColumn& column, std::vector<const ToolColumn*>& varied) {
    const std::vector<std::string> values = distinct_values(column.values);
    const bool is_whole = std::find(column.values.begin(), column.values.end(), "") == column.values.end();
    if (values.empty() || (values.size() == 1 && values.front().empty())) return;
    if (numbers_repeats(column.name)) {
      add_fact(column);
    } else if (values.size() == 1) {
      if (identifies_run(column.name) || is_text_of_run(values, results_.runs)) return;
      found_.constants.emplace(column.name, values.front());
      add_fact(column);
    } else if (identifies_run(column.name) || is_text_of_run(values, results_.runs)) {
      found_.notes.push_back(fmt::format("`{}` tells runs apart, and is no axis", column.name));
    } else if (!is_whole) {
      found_.notes.push_back(fmt::format("`{}` is missing in {}, and is no axis", column.name,
                                         counted(std::count(column.values.begin(), column.values.end(), ""), "run", "runs")));
    } else {
      varied.push_back(&column);
    }
  }

  void add_fact(const ToolColumn& column) {
    if (found_.facts.size() < kMostFacts) found_.facts.push_back({name_of_column(column.name, fact_names_), &column});
  }

  /// Parameters that several others determine, as global_batch by batch and gpus: facts.
  void leave_out_followers(std::vector<const ToolColumn*>& varied) {
    std::vector<std::vector<std::string>> texts;
    for (const ToolColumn* column : varied) texts.push_back(canonical_all(column->values));
    std::vector<bool> stays(varied.size(), true);
    for (std::size_t i = varied.size(); i-- > 0;) {
      std::vector<const std::vector<std::string>*> others;
      for (std::size_t other = 0; other < varied.size(); ++other) {
        if (other != i && stays[other]) others.push_back(&texts[other]);
      }
      if (std::any_of(others.begin(), others.end(),
                      [&](const auto* other) { return *other == texts[i]; })) {  // under another name
        stays[i] = false;
        continue;
      }
      if (others.size() < 2 || !follows(joined(others, results_.runs), texts[i])) continue;
      const bool has_partner = std::any_of(others.begin(), others.end(), [&](const auto* other) {
        return follows(texts[i], *other) && follows(*other, texts[i]);
      });
      if (has_partner || !is_repeated(others)) continue;
      stays[i] = false;
      add_fact(*varied[i]);
      found_.notes.push_back(fmt::format("`{}` follows from other parameters, and is no axis", varied[i]->name));
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < varied.size(); ++i) {
      if (stays[i]) varied[kept++] = varied[i];
    }
    varied.resize(kept);
  }

  /// Whether some runs are alike in these: else all that varies follows from them.
  bool is_repeated(const std::vector<const std::vector<std::string>*>& columns) const {
    const std::vector<std::string> all = joined(columns, results_.runs);
    return std::set<std::string>(all.begin(), all.end()).size() < all.size();
  }

  void add_axis(const ToolColumn& column, bool has_nodes) {
    const std::vector<std::string> values = distinct_values(column.values);
    std::string name = are_sizes(values) ? size_of_name(column.name, has_nodes) : "";
    if (name.empty() || std::find(axis_names_.begin(), axis_names_.end(), name) != axis_names_.end()) {
      const std::string last = column.name.substr(column.name.rfind('.') + 1);
      name = name_of_column(is_only_one(last) ? last : column.name, axis_names_);
      if (name == "gpus" || name == "ranks") name += "_in_all";
    } else {
      axis_names_.push_back(name);
    }
    if (name != column.name) found_.notes.push_back(fmt::format("the axis `{}` is the tool's `{}`", name, column.name));
    found_.axes.push_back({name, &column, values});
  }

  /// Whether one parameter has this last part of a name: `lr` of `optim.lr`.
  bool is_only_one(const std::string& last) const {
    return std::count_if(results_.columns.begin(), results_.columns.end(),
                         [&](const ToolColumn& column) { return column.name.substr(column.name.rfind('.') + 1) == last; }) == 1;
  }

  void group_axes() {
    std::vector<std::vector<std::string>> texts;
    for (const auto& axis : found_.axes) texts.push_back(canonical_all(axis.column->values));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto partner = std::find_if(found_.groups.begin(), found_.groups.end(), [&](const auto& group) {
        return follows(texts[group.front()], texts[i]) && follows(texts[i], texts[group.front()]);
      });
      if (partner == found_.groups.end()) {
        found_.groups.push_back({i});
      } else {
        partner->push_back(i);
      }
    }
    std::vector<const std::vector<std::string>*> all;
    for (const auto& column : texts) all.push_back(&column);
    const std::vector<std::string> points = joined(all, results_.runs);
    std::size_t product = 1;
    for (const auto& group : found_.groups) product *= found_.axes[group.front()].values.size();
    if (product != std::set<std::string>(points.begin(), points.end()).size()) {
      found_.groups.assign(1, {});
      for (std::size_t i = 0; i < texts.size(); ++i) found_.groups.front().push_back(i);
    }
    for (const auto& group : found_.groups) found_.rows.push_back(rows_of(group));
  }

  std::vector<std::vector<std::string>> rows_of(const std::vector<std::size_t>& group) const {
    std::vector<std::vector<std::string>> rows;
    std::set<std::string> known;
    for (std::size_t run = 0; run < results_.runs; ++run) {
      std::vector<std::string> row;
      std::string key;
      for (const std::size_t axis : group) {
        const std::string& value = found_.axes[axis].column->values[run];
        const auto& values = found_.axes[axis].values;
        row.push_back(
            *std::find_if(values.begin(), values.end(), [&](const auto& one) { return canonical(one) == canonical(value); }));
        key += canonical(value) + '\x1f';
      }
      if (known.insert(key).second) rows.push_back(row);
    }
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return std::lexicographical_compare(
          a.begin(), a.end(), b.begin(), b.end(),
          [](const std::string& left, const std::string& right) { return Value::from_plain(left) < Value::from_plain(right); });
    });
    return rows;
  }

  const ToolResults& results_;
  ToolAxes found_;
  std::vector<std::string> axis_names_, fact_names_;
};

}  // namespace

ToolAxes find_axes(const ToolResults& results) { return AxisFinder(results).find(); }

void decide_roles(ToolResults& results) {
  static const Words kParameters = {"lr",     "learning_rate", "batch_size", "batch",      "bs",          "epochs",
                                    "layers", "depth",         "width",      "hidden",     "hidden_size", "threads",
                                    "cores",  "steps",         "size",       "world_size", "workers"};
  for (ToolColumn& column : results.columns) {
    if (column.role != ToolColumn::Role::either) continue;
    const std::set<std::string> distinct(column.values.begin(), column.values.end());
    const bool is_named = kParameters.contains(last_part(column.name)) || numbers_repeats(column.name) ||
                          identifies_run(column.name) || !size_of_name(column.name, false).empty();
    const bool repeats = distinct.size() * 2 <= column.values.size();
    column.role = !are_numbers(column.values) || is_named || repeats ? ToolColumn::Role::parameter : ToolColumn::Role::number;
  }
}

std::string name_of_column(const std::string& name, std::vector<std::string>& used) {
  std::string made;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      made += c;
    } else if (!made.empty() && made.back() != '_') {
      made += '_';
    }
  }
  while (made.ends_with('_')) made.pop_back();
  if (made.empty() || std::isdigit(static_cast<unsigned char>(made.front())) != 0) made = "x_" + made;
  std::string unique = made;
  for (int i = 2; std::find(used.begin(), used.end(), unique) != used.end(); ++i) unique = fmt::format("{}_{}", made, i);
  used.push_back(unique);
  return unique;
}

}  // namespace hpcbench
