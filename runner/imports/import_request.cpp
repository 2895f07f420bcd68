#include "imports/import_request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/take.hpp"
#include "base/text.hpp"
#include "imports/import_files.hpp"
#include "imports/problems.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kPointsShown = 6;

/// Equal for texts that mean the same value, however the number is spelled and whether it was quoted.
std::string comparable(const std::string& text) { return Value::from_plain(text).canonical(); }

std::string describe_texts(const NamedTexts& values) {
  std::vector<std::string> parts;
  for (const auto& [name, text] : values) parts.push_back(name + '=' + text);
  return parts.empty() ? "(nothing said)" : join(parts, ", ");
}

bool is_axis(const Plan& plan, const std::string& name) {
  return std::find(plan.axes.begin(), plan.axes.end(), name) != plan.axes.end();
}

/// Axes, and the sizes that follow from them.
bool is_known(const Plan& plan, const std::string& name) { return is_axis(plan, name) || name == "gpus" || name == "ranks"; }

/// The value of an axis, or of a size, of one point.
std::string text_of_point(const Plan& plan, std::size_t point, const std::string& name) {
  const Configuration& configuration = plan.configurations[point];
  const auto axis = std::find(plan.axes.begin(), plan.axes.end(), name);
  if (axis != plan.axes.end()) return configuration.values[static_cast<std::size_t>(axis - plan.axes.begin())].text();
  return std::to_string(name == "gpus" ? configuration.gpus() : configuration.ranks());
}

/// The axes on which points differ, for messages.
std::string describe_point(const Plan& plan, std::size_t point) {
  Bindings shown;
  const Bindings all = plan.bindings(plan.configurations[point]);
  for (const auto& [name, value] : all) {
    if (std::find(plan.varied.begin(), plan.varied.end(), name) != plan.varied.end()) shown.emplace_back(name, value);
  }
  return describe(shown);
}

/// The file as it is without profile and --set.
struct FileStudy {
  std::vector<Import> imports;
  Plan plan;

  bool has_import(const Place& place) const {
    return std::any_of(imports.begin(), imports.end(), [&](const Import& import) {
      return import.place.file == place.file && import.place.line == place.line && import.place.column == place.column;
    });
  }
};

std::optional<FileStudy> file_without_changes(const Study& study) {
  if (study.experiment.imports.empty() || (study.source.profile.empty() && study.source.settings.empty())) return std::nullopt;
  ReadOptions options;
  options.looks_back = true;  // the caller has read the file: a retired key is not refused here
  if (!study.source.site.empty()) options.site = study.source.site;
  Experiment experiment = read_experiment(study.experiment.path, options);
  return FileStudy{experiment.imports, make_plan(experiment)};
}

/// Of what an inherited import asks for since `before`, keeps the points that the file has.
void leave_out_others(const Study& study, const FileStudy& file, const Import& import, std::size_t before, ImportPlan& plan) {
  const auto first = plan.requests.begin() + static_cast<std::ptrdiff_t>(before);
  const auto is_other = [&](const ImportRequest& request) {
    return !file.plan.find(study.plan.configurations[request.configuration].id);
  };
  const auto kept = std::remove_if(first, plan.requests.end(), is_other);
  const auto count = plan.requests.end() - kept;
  plan.requests.erase(kept, plan.requests.end());
  if (count > 0) {
    plan.whole = false;
    plan.notes.push_back(fmt::format("{}: {} runs are of configurations that differ now in more than their axes",
                                     describe(import.place), count));
  }
}

/// The metrics that a request gives, as far as that is known before its files are read: these may hold any.
std::vector<std::string> given_metrics(const ImportRequest& request) {
  std::vector<std::string> names;
  if (!request.files.empty()) names.emplace_back();
  for (const GivenValue& value : request.values) names.push_back(value.metric);
  return names;
}

std::string kind_of_value(const ImportRequest& request) {
  return request.statistic ? "the " + *request.statistic : std::string("a single run");
}

/// How one of two requests with these metrics in common gets others. Lines of one table have one heading for both.
std::string other_metric_advice(const ImportRequest& request, const ImportRequest& other,
                                const std::vector<std::string>& metrics) {
  if (!request.line || !other.line || metrics.front().empty()) return "give one another metric";
  if (request.line->table == other.line->table) return "give one a column and a metric of its own";
  const ImportRequest& published = request.statistic ? request : other;
  std::vector<std::string> mapped;
  for (const std::string& metric : metrics)
    mapped.push_back(fmt::format("{}_{}: {}", published.statistic.value_or("other"), metric, metric));
  return fmt::format("give each of these columns of one table another metric, as in its entry `values: {{{}}}`",
                     join(mapped, ", "));
}

/// A row shows one statistic, of one kind of value: a mean and a minimum, or a mean and single runs, are no sample. Leaves out
/// what differs from the first one, with a problem.
void refuse_mixed_statistics(const Plan& points, ImportPlan& plan) {
  std::map<std::pair<std::size_t, std::string>, std::size_t> first;  // by configuration and metric: the index in `kept`
  std::vector<ImportRequest> kept;
  for (ImportRequest& request : plan.requests) {
    const std::vector<std::string> metrics = given_metrics(request);
    const ImportRequest* other = nullptr;
    std::vector<std::string> common;  // those that both give
    for (const std::string& metric : metrics) {
      const auto found = first.find({request.configuration, metric});
      if (found == first.end() || kept[found->second].statistic == request.statistic) continue;
      if (other == nullptr) other = &kept[found->second];
      if (other == &kept[found->second]) common.push_back(metric);
    }
    if (other != nullptr) {
      const std::string what = common.front().empty() ? "" : fmt::format(" of `{}`", join(common, "`, `"));
      plan.problems.push_back(
          printable(fmt::format("{}: error: this is {}{} of {}, and {} gives {}", request.where, kind_of_value(request), what,
                                describe_point(points, request.configuration), other->where, kind_of_value(*other))) +
          "\n  = " +
          printable(fmt::format("a row shows one statistic of a metric: keep one of them, {}, or tell them apart by an axis",
                                other_metric_advice(request, *other, common))));
      continue;
    }
    for (const std::string& metric : metrics) first.emplace(std::pair(request.configuration, metric), kept.size());
    kept.push_back(std::move(request));
  }
  plan.requests = std::move(kept);
}

/// A row of several published values of one statistic shows their median.
void note_several_statistics(const Plan& points, ImportPlan& plan) {
  std::map<std::pair<std::size_t, std::string>, std::vector<const ImportRequest*>> published;  // by configuration and metric
  for (const ImportRequest& request : plan.requests) {
    if (!request.statistic) continue;
    for (const std::string& metric : given_metrics(request)) published[{request.configuration, metric}].push_back(&request);
  }
  std::set<std::vector<const ImportRequest*>> told;
  for (const auto& [key, requests] : published) {
    const std::size_t point = key.first;
    if (requests.size() < 2 || !told.insert(requests).second) continue;
    plan.notes.push_back(printable(fmt::format(
        "{}: {} published values ({}) are of one configuration ({}): the report shows their median, without an interval",
        requests.front()->where, requests.size(), *requests.front()->statistic, describe_point(points, point))));
  }
}

}  // namespace

std::vector<std::size_t> find_points(const Plan& plan, const NamedTexts& values) {
  for (const auto& [name, text] : values) {
    if (!is_known(plan, name)) return {};
  }
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    const bool has_all = std::all_of(values.begin(), values.end(), [&](const auto& value) {
      return comparable(text_of_point(plan, i, value.first)) == comparable(value.second);
    });
    if (has_all) points.push_back(i);
  }
  return points;
}

std::string why_not_one(const Plan& plan, const NamedTexts& values, const std::vector<std::size_t>& points) {
  if (points.size() == 1) return {};
  std::string size_advice;
  for (const auto& [name, text] : values) {
    if (!is_known(plan, name))
      return fmt::format("`{}` is no axis{}; the axes are: {}", name, did_you_mean(name, plan.axes), join(plan.axes, ", "));
    if (is_axis(plan, name)) continue;
    const std::string axis = name == "gpus" ? "gpus_per_node" : std::string(kRanksPerNode);
    size_advice = fmt::format("; `{0}` is nodes x {1}: put nodes and {1} that give it into `matrix`", name, axis);
  }
  if (points.empty()) {
    for (const auto& value : values) {
      if (!find_points(plan, {value}).empty()) continue;
      std::vector<std::string> there;
      for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
        const std::string text = text_of_point(plan, i, value.first);
        if (there.size() < kPointsShown && std::find(there.begin(), there.end(), text) == there.end()) there.push_back(text);
      }
      return fmt::format("no point has {}={} (there are: {}){}", value.first, value.second, join(there, ", "),
                         is_axis(plan, value.first) ? "" : size_advice);
    }
    return fmt::format("no point has {} at once{}", describe_texts(values), size_advice);
  }
  std::vector<std::string> shown;
  for (const std::size_t point : points) {
    if (shown.size() < kPointsShown) shown.push_back(describe_point(plan, point));
  }
  return fmt::format("{} is {} points; say more: {}{}", describe_texts(values), points.size(), join(shown, "; "),
                     points.size() > shown.size() ? "; ..." : "");
}

std::size_t find_point(const Plan& plan, const std::string& text) {
  NamedTexts values;
  for (const std::string& clause : split_escaped(text, ',')) {
    const std::string word = unescaped(trim(clause));
    if (word.empty()) throw InputError(fmt::format("error: --run {}: a value is missing between commas", text));
    if (const std::size_t equals = word.find('='); equals != std::string::npos) {
      values.emplace_back(std::string(trim(word.substr(0, equals))), std::string(trim(word.substr(equals + 1))));
      continue;
    }
    std::vector<std::string> axes;
    for (const std::string& axis : plan.axes) {
      if (!find_points(plan, {{axis, word}}).empty()) axes.push_back(axis);
    }
    if (axes.size() != 1) {
      throw InputError(axes.empty() ? fmt::format("error: --run {}: no axis has the value {}; write axis=value (axes: {})",
                                                  text, word, join(plan.axes, ", "))
                                    : fmt::format("error: --run {}: {} is a value of {}; write axis={}", text, word,
                                                  join(axes, " and of "), word));
    }
    values.emplace_back(axes.front(), word);
  }
  const std::vector<std::size_t> points = find_points(plan, values);
  if (const std::string why = why_not_one(plan, values, points); !why.empty())
    throw InputError(fmt::format("error: --run {}: {}", text, why));
  return points.front();
}

namespace {

std::map<std::string, long long> requests_by_file(const ImportPlan& plan) {
  std::map<std::string, long long> counts;
  for (const ImportRequest& request : plan.requests) {
    for (const std::string& file : request.files) ++counts[file];
    if (request.line) ++counts[request.line->table];
  }
  return counts;
}

}  // namespace

ImportPlan plan_imports(const Study& study) {
  ImportPlan plan;
  const std::optional<FileStudy> file = file_without_changes(study);
  for (const Import& import : study.experiment.imports) {
    const bool inherited = file && file->has_import(import.place);
    const std::size_t before = plan.requests.size();
    const std::vector<ImportedFile> files = find_imported_files(study, import, plan);
    for (const ImportedFile& file : files) plan.read.insert(file.path);
    if (files.empty() && !import.files.empty()) continue;
    if (import.is_table) {
      for (const ImportedFile& file : files) {
        const std::size_t sound = plan.problems.size();
        Import of_table = import;
        add_names(study.plan, file.reading, of_table);
        plan_table(study, of_table, file.path, inherited, plan);
        if (plan.problems.size() > sound) plan.broken.insert(file.path);
      }
    } else {
      plan_files(study, import, files, inherited, plan);
    }
    if (inherited) leave_out_others(study, *file, import, before, plan);
  }
  const std::map<std::string, long long> asked = requests_by_file(plan);
  const std::size_t sound = plan.problems.size();
  merge_equal_runs(plan);
  convert_given_units(study.experiment, plan);
  refuse_mixed_statistics(study.plan, plan);
  if (plan.problems.size() > sound) {
    const std::map<std::string, long long> kept = requests_by_file(plan);
    for (const auto& [path, count] : asked) {
      const auto found = kept.find(path);
      if (found == kept.end() || found->second < count) plan.broken.insert(path);
    }
  }
  note_several_statistics(study.plan, plan);
  plan.notes = one_for_alike(plan.notes);
  return plan;
}

}  // namespace hpcbench
