#include "cli/completion/values.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "spec/read_experiment.hpp"
#include "spec/site.hpp"
#include "study/index.hpp"
#include "study/last_run.hpp"

namespace hpcbench {

namespace {

struct KindRow {
  std::string_view name;  // of an option or a positional argument, or what --help calls its value
  ValueKind kind;
};

/// The first row that fits counts.
constexpr std::array kKinds = {
    KindRow{"--profile", ValueKind::profiles},
    KindRow{"--site", ValueKind::sites},
    KindRow{"--metric", ValueKind::metrics},
    KindRow{"--prepare", ValueKind::preparations},
    KindRow{"--group-by", ValueKind::axes},
    KindRow{"--run", ValueKind::points},
    KindRow{"--experiment", ValueKind::experiments},
    KindRow{"--output", ValueKind::files},
    KindRow{"FILE", ValueKind::experiments},
    KindRow{"A", ValueKind::experiments},
    KindRow{"B", ValueKind::experiments},
    KindRow{"RUN", ValueKind::runs},
    KindRow{"EXPERIMENT", ValueKind::studies},
    KindRow{"ARGUMENTS", ValueKind::files},
    KindRow{"COMMAND", ValueKind::files},
    KindRow{"AXIS=VALUE,...", ValueKind::points},
    KindRow{"DIR", ValueKind::folders},
    KindRow{"DIR [DIR]", ValueKind::folders},
    KindRow{"FOLDER", ValueKind::folders},
    KindRow{"ARCHIVE", ValueKind::files},
    KindRow{"JUBE_FILE", ValueKind::files},
};

std::string results_of(const GivenWords& given) { return last_given(given, "--results", "results"); }

/// The file that the command is on: FILE, the study of that name, or what was run last. With the profiles that it is read with.
std::optional<LastRun> file_at_hand(const GivenWords& given) {
  std::string named = last_given(given, "--experiment", "");
  const bool takes_files =
      given.command == "ingest" || given.command == "show" || given.command == "logs" || given.command == "set-aside";
  if (named.empty() && !takes_files && !given.positionals.empty()) named = given.positionals.front();
  if (given.command == "compare") named = named.substr(0, named.find('@'));
  const std::string results = results_of(given);
  if (named.empty()) return read_last_run(results);
  if (!std::filesystem::exists(named)) return read_last_run_of(results, named);
  return LastRun{"", named, "", "", {}};
}

/// As far as it can be read: with the options of the command line, else without its profiles.
std::optional<Experiment> experiment_at_hand(const GivenWords& given) {
  const std::optional<LastRun> source = file_at_hand(given);
  if (!source) return std::nullopt;
  ReadOptions options;
  if (!source->profile.empty()) options.profile = source->profile;
  if (!source->site.empty()) options.site = source->site;
  options.settings = source->settings;
  if (const auto said = given.given.find("--profile"); said != given.given.end()) options.profile = join(said->second, ",");
  if (const std::string site = last_given(given, "--site", ""); !site.empty()) options.site = site;
  for (const ReadOptions& tried : {options, ReadOptions()}) {
    try {
      return read_experiment(source->file, tried);
    } catch (const InputError&) {  // offers nothing, or less
    } catch (const UnavailableError&) {
    }
  }
  return std::nullopt;
}

void add_axis_value(std::map<std::string, std::vector<std::string>>& axes, const std::string& name, const Value& value) {
  std::vector<std::string>& values = axes[name];
  if (std::find(values.begin(), values.end(), point_value(value)) == values.end()) values.push_back(point_value(value));
}

std::map<std::string, std::vector<std::string>> axes_of(const Experiment& experiment) {
  std::map<std::string, std::vector<std::string>> axes;
  const auto add = [&](const Axis& axis) {
    for (const Value& value : axis.values) add_axis_value(axes, axis.name, value);
  };
  for (const Axis& axis : experiment.matrix) add(axis);
  for (const std::vector<Axis>& together : experiment.zip) {
    for (const Axis& axis : together) add(axis);
  }
  for (const Bindings& point : experiment.include) {
    for (const auto& [name, value] : point) add_axis_value(axes, name, value);
  }
  return axes;
}

std::vector<Offer> offer_axes(const Experiment& experiment, const std::string& typed) {
  const std::size_t comma = typed.rfind(',');
  const std::string kept = comma == std::string::npos ? "" : typed.substr(0, comma + 1);
  const std::vector<std::string> there = split(kept, ',');
  std::vector<Offer> offers;
  for (const auto& [name, values] : axes_of(experiment)) {
    if (std::find(there.begin(), there.end(), name) == there.end()) offers.push_back({kept + name, join(values, ", ")});
  }
  return offers;
}

std::vector<Offer> offer_metrics(const Experiment& experiment) {
  std::vector<Offer> offers;
  for (const Metric& metric : experiment.work.metrics) offers.push_back({metric.name, "of the file"});
  if (experiment.is_trainer()) {
    for (const std::string& name : trainer_metrics()) offers.push_back({name, "of the trainer"});
  }
  for (const std::string& name : measured_metrics()) offers.push_back({name, "of every run"});
  return offers;
}

std::vector<Offer> offer_studies(const GivenWords& given) {
  std::vector<Offer> offers;
  for (const std::string& name : experiments_on_disk(results_of(given))) offers.push_back({name, "a study"});
  return offers;
}

std::vector<Offer> offer_of_experiment(ValueKind kind, const Experiment& experiment, const std::string& typed) {
  std::vector<Offer> offers;
  if (kind == ValueKind::points) return offer_points(axes_of(experiment), typed);
  if (kind == ValueKind::axes) return offer_axes(experiment, typed);
  if (kind == ValueKind::metrics) return offer_metrics(experiment);
  if (kind == ValueKind::profiles) {
    for (const std::string& name : experiment.profiles) offers.push_back({name, "a profile"});
  }
  if (kind == ValueKind::preparations) {
    for (const Preparation& preparation : experiment.preparations) offers.push_back({preparation.name, "a preparation"});
  }
  return offers;
}

std::vector<Offer> joined_offers(std::vector<Offer> first, const std::vector<Offer>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

}  // namespace

std::string point_value(const Value& value) {
  std::string text;
  for (const char c : value.text()) text += c == ',' || c == '|' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return text;
}

std::string last_given(const GivenWords& given, const std::string& option, const std::string& otherwise) {
  const auto found = given.given.find(option);
  return found == given.given.end() || found->second.empty() ? otherwise : found->second.back();
}

ValueKind value_kind(const commandline::Option& option, const GivenWords& given) {
  if (given.command == "ingest" && option.is_positional()) {
    return given.given.count("--experiment") > 0 ? ValueKind::files : ValueKind::studies;
  }
  if (given.command == "init" && option.is_positional()) return ValueKind::files;
  const std::string label = option.value_label();
  for (const KindRow& row : kKinds) {
    if (row.name == option.name() || row.name == label) return row.kind;
  }
  return ValueKind::nothing;
}

std::vector<Offer> offer_values(ValueKind kind, const GivenWords& given, const std::string& typed) {
  switch (kind) {
    case ValueKind::nothing:
      return {};
    case ValueKind::files:
      return offer_files(typed, FileFilter::all);
    case ValueKind::folders:
      return offer_files(typed, FileFilter::folders);
    case ValueKind::experiments:
      return joined_offers(offer_studies(given), offer_files(typed, FileFilter::experiments));
    case ValueKind::studies:
      return offer_studies(given);
    case ValueKind::runs:
      return offer_runs(given, typed);
    case ValueKind::sites: {
      std::vector<Offer> offers;
      for (const std::string& name : site_names()) offers.push_back({name, "a site"});
      return joined_offers(offers, offer_files(typed, FileFilter::experiments));
    }
    case ValueKind::points:
    case ValueKind::axes:
    case ValueKind::profiles:
    case ValueKind::metrics:
    case ValueKind::preparations:
      break;
  }
  const std::optional<Experiment> experiment = experiment_at_hand(given);
  return experiment ? offer_of_experiment(kind, *experiment, typed) : std::vector<Offer>();
}

std::vector<Offer> offer_points(const std::map<std::string, std::vector<std::string>>& axes, const std::string& typed) {
  std::vector<std::string> clauses = split(typed, ',');
  const std::string last = clauses.empty() ? "" : clauses.back();
  const std::string kept = typed.substr(0, typed.size() - last.size());
  const std::size_t equals = last.find('=');
  std::vector<Offer> offers;
  if (equals != std::string::npos) {
    const auto axis = axes.find(last.substr(0, equals));
    const std::size_t bar = last.rfind('|');
    const std::string before = kept + last.substr(0, std::max(equals, bar == std::string::npos ? 0 : bar) + 1);
    if (axis == axes.end()) return offers;
    for (const std::string& value : axis->second) offers.push_back({before + value});
    return offers;
  }
  for (const auto& [name, values] : axes) {
    const bool is_there = std::any_of(clauses.begin(), clauses.end(),
                                      [&, begin = name + "="](const std::string& clause) { return clause.starts_with(begin); });
    if (!is_there) offers.push_back({kept + name + "=", join(values, ", ")});
  }
  return offers;
}

}  // namespace hpcbench
