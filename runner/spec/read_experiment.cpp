#include "spec/read_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.hpp"
#include "base/executor_kind.hpp"
#include "base/files.hpp"
#include "base/text.hpp"
#include "spec/checks.hpp"
#include "spec/fields.hpp"
#include "spec/merge.hpp"
#include "spec/names_gpus.hpp"
#include "spec/retired_keys.hpp"
#include "spec/site.hpp"
#include "yaml/used_files.hpp"

namespace hpcbench {

const std::vector<std::string>& builtin_placeholders() {
  static const std::vector<std::string> kNames = {"nodes", "gpus_per_node", "gpus", "run_dir", "repeat", "seed", "resume_from"};
  return kNames;
}

bool Continuation::goes_on_after(State outcome) const { return std::find(on.begin(), on.end(), outcome) != on.end(); }

double Continuation::warning_s(double limit_s) const {
  constexpr double kLongestS = 60;
  return std::min(warn_s.value_or(std::min(kLongestS, limit_s / 5)), limit_s / 2);
}

std::vector<std::string> Experiment::axis_names() const {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const Axis& axis : matrix) add(axis.name);
  for (const std::vector<Axis>& block : zip) {
    for (const Axis& axis : block) add(axis.name);
  }
  if (names.empty() && !include.empty()) {
    for (const auto& [name, value] : include.front()) add(name);
  }
  add("nodes");
  add("gpus_per_node");
  return names;
}

ScaleBy Experiment::scale_by() const {
  const std::vector<std::string> names = axis_names();
  const bool ranks = std::find(names.begin(), names.end(), kRanksPerNode) != names.end();
  return report.scale_by.value_or(ranks ? ScaleBy::ranks : has_gpus ? ScaleBy::gpus : ScaleBy::nodes);
}

Bindings Experiment::shown_axes(Bindings axes) const {
  std::erase_if(axes, [&](const auto& axis) { return !shows_axis(axis.first); });
  return axes;
}

const Metric* Experiment::find_metric(const std::string& name) const {
  const auto find = [&](const std::vector<Metric>& metrics) {
    const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const Metric& each) { return each.name == name; });
    return found == metrics.end() ? nullptr : &*found;
  };
  if (const Metric* found = find(work.metrics)) return found;
  if (const Metric* found = find(described)) return found;
  for (const Override& entry : overrides) {
    const Metric* found = entry.metrics ? find(*entry.metrics) : nullptr;
    if (found != nullptr) return found;
  }
  for (const Import& import : imports) {
    const Metric* found = import.metrics ? find(*import.metrics) : nullptr;
    if (found != nullptr) return found;
  }
  return nullptr;
}

MetricKind Experiment::kind_of(const std::string& metric, const std::string& unit) const {
  const Metric* const found = find_metric(metric);
  return kind_of_metric(metric, unit, found == nullptr ? std::nullopt : found->better);
}

std::string Experiment::place_of_key(const std::string& key) const {
  const auto said = origins.find(key);
  return said == origins.end() ? path : said->second;
}

const char* to_string(ScaleBy unit) {
  switch (unit) {
    case ScaleBy::ranks:
      return "ranks";
    case ScaleBy::nodes:
      return "nodes";
    case ScaleBy::cores:
      return "cores";
    case ScaleBy::gpus:
      break;
  }
  return "gpus";
}

namespace {

/// Everything that one reading needs: sources stay where they are while nodes point into them.
class Reading {
 public:
  Reading(const std::string& text, const std::string& path, const ReadOptions& options)
      : path_(path), options_(options), file_(std::make_shared<const YamlSource>(path, text)) {}

  Experiment run() {
    if (options_.site) read_site_file(find_site(*options_.site));
    root_ = parse_yaml(*file_, diagnostics_);
    if (root_.kind == YamlNode::Kind::absent) {
      throw InputError(fmt::format("{}:1:1: error: the file is empty\n  = `hpcbench init` writes a commented example", path_));
    }
    lay_on_used_files();
    refuse_retired(root_);
    const ParsedExperiment base = read(root_);
    check_parsed(base, diagnostics_);
    check_other_profiles(base);
    YamlNode changed = root_;
    const std::string changes = change(changed);
    if (changes.empty()) {
      diagnostics_.throw_if_any();
      return finish(base);
    }
    refuse_retired(changed);
    ParsedExperiment parsed = read(changed);
    if (axes_are_sound(parsed) && axes_are_sound(base)) drop_outside(parsed, base, changes);
    check_parsed(parsed, diagnostics_);
    diagnostics_.throw_if_any();
    return finish(parsed);
  }

 private:
  void read_site_file(const std::string& path) {
    site_source_ = std::make_shared<const YamlSource>(path, read_file(path));
    site_root_ = parse_yaml(*site_source_, diagnostics_);
    if (site_root_.kind != YamlNode::Kind::absent) site_ = read_site(site_root_, path, diagnostics_);
  }

  /// Under the file goes what it uses: the later entry of `use` counts, and the file before all of them.
  void lay_on_used_files() {
    const std::size_t index = root_.index_of("use");
    if (index == YamlNode::npos) return;
    diagnostics_.know(*file_);
    used_ = read_used_files(root_.items[index], diagnostics_);
    diagnostics_.throw_if_any();  // what is missing would be missed at many places
    root_.keys.erase(root_.keys.begin() + static_cast<std::ptrdiff_t>(index));
    root_.items.erase(root_.items.begin() + static_cast<std::ptrdiff_t>(index));
    YamlNode laid;
    laid.kind = YamlNode::Kind::map;
    laid.location = root_.location;
    const auto lay = [&](const YamlNode& over) {
      refuse_vain_removals(laid, over, diagnostics_);
      laid = merge(laid, over);
    };
    for (const UsedFile& used : used_) lay(used.root);
    lay(root_);
    root_ = std::move(laid);
  }

  /// The lowest layers first: defaults, the site, then the file (with what was laid over it).
  ParsedExperiment read(const YamlNode& root) {
    ParsedExperiment parsed;
    Experiment& experiment = parsed.experiment;
    experiment.path = path_;
    experiment.site = site_;
    if (site_source_) parsed.site_root = &site_root_;
    experiment.work.modules = site_.modules;
    experiment.work.setup = site_.setup;
    experiment.work.environment = site_.environment;
    experiment.work.srun = site_.srun;
    experiment.limits.cost = site_.limits;
    read_root(root, parsed, diagnostics_);
    if (experiment.executor == "auto") experiment.executor = site_.executor.value_or("local");
    if (executor_kind(experiment.executor).described && !site_.commands) {
      const YamlNode* const node = root.is_map() ? root.find("executor") : nullptr;
      if (node != nullptr) {
        diagnostics_.add(node->location, "`executor: commands` needs a site that describes the batch system",
                         "call with --site gridengine, pbs, lsf, flux or a file of your own");
      }
    }
    return parsed;
  }

  /// The chosen profile is checked with the whole; of the others only what they say by themselves.
  void check_other_profiles(const ParsedExperiment& base) {
    const YamlNode* profiles = root_.is_map() ? root_.find("profiles") : nullptr;
    if (profiles == nullptr || profiles->kind == YamlNode::Kind::absent || !expect_map(*profiles, "`profiles`", diagnostics_))
      return;
    for (std::size_t i = 0; i < profiles->items.size() && !diagnostics_.full(); ++i) {
      const YamlKey& key = profiles->keys[i];
      if (!is_plain_name(key.name))
        diagnostics_.add(key.location, fmt::format("{} cannot be the name of a profile", cite(key.name)));
      const YamlNode& profile = profiles->items[i];
      if (profile.kind == YamlNode::Kind::absent) continue;  // a profile may change nothing
      check_profile(profile, base, diagnostics_);
    }
  }

  /// Lays the profiles and the settings over the file; the words for what changed it, empty for nothing.
  std::string change(YamlNode& root) {
    std::string changes;
    const std::optional<std::string> wanted = options_.profile ? options_.profile : site_.profile;
    if (wanted) {
      for (const std::string& name : split(*wanted, ',')) lay_on(root, name);
      if (!profile_.empty()) changes = fmt::format("profile `{}`", profile_);
    }
    for (const std::string& setting : options_.settings) apply_setting(root, setting);
    if (!options_.settings.empty()) changes += changes.empty() ? "--set" : " and --set";
    return changes;
  }

  /// One profile, which the command line or the site names.
  void lay_on(YamlNode& root, const std::string& name) {
    const YamlNode* profiles = root_.is_map() ? root_.find("profiles") : nullptr;
    const YamlNode* profile = profiles == nullptr || !profiles->is_map() ? nullptr : profiles->find(name);
    if (profile == nullptr && options_.profile) refuse_profile(name, profiles);
    if (profile != nullptr && profile->is_map()) root = merge(root, *profile);
    if (profile != nullptr) profile_ += (profile_.empty() ? "" : ",") + name;
    if (!options_.profile) note_site_profile(name, profile != nullptr);
  }

  void note_site_profile(const std::string& name, bool found) {
    notes_.push_back(found ? fmt::format("profile `{}`, as the site {} says; --profile chooses another", name, site_.name)
                           : fmt::format("the site {} says profile `{}`, which {} does not have: the file stands as it is",
                                         site_.name, name, path_));
  }

  [[noreturn]] void refuse_profile(const std::string& name, const YamlNode* profiles) {
    diagnostics_.throw_if_any();
    std::vector<std::string> names;
    if (profiles != nullptr) {
      for (const YamlKey& key : profiles->keys) names.push_back(key.name);
    }
    const std::string near = did_you_mean(name, names);
    throw InputError(fmt::format("error: {} has no profile {}{}\n  = {}", path_, cite(name), near,
                                 names.empty() ? "it has no `profiles`" : "profiles there are: " + cite_all(names)));
  }

  static bool has_key(const YamlNode& root, const std::vector<YamlKey>& path) {
    const YamlNode* node = &root;
    for (const YamlKey& key : path) {
      node = node->is_map() ? node->find(key.name) : nullptr;
      if (node == nullptr) return false;
    }
    return true;
  }

  void apply_setting(YamlNode& root, const std::string& setting) {
    const std::size_t equals = setting.find('=');
    settings_.push_back(std::make_shared<const YamlSource>("--set", setting, equals == std::string::npos ? 0 : equals + 1));
    const YamlSource& source = *settings_.back();
    const char* const advice = "write --set key=VALUE or --set key.key=VALUE: --set repeats=3, --set 'matrix.nodes=[1, 2]'";
    if (equals == std::string::npos || equals == 0)
      throw InputError(located_message({&source, 0}, "there is no `key=` here", advice));
    std::vector<YamlKey> path;
    std::size_t begin = 0;
    for (const std::string& name : split(std::string_view(setting).substr(0, equals), '.')) {
      if (name.empty()) throw InputError(located_message({&source, begin}, "a key is missing here", advice));
      path.push_back({name, {&source, begin}});
      begin += name.size() + 1;
    }
    if (path.front().name == "use") {
      throw InputError(located_message({&source, 0}, "`use` stands in the file: what it names lies below the file",
                                       "--set and profiles lie above; set the keys themselves"));
    }
    const YamlNode value = parse_yaml(source, diagnostics_);
    if (!root.is_map()) return;  // the file has its diagnostic already
    if (is_removal(value) && !has_key(root, path)) {
      diagnostics_.add(path.back().location, fmt::format("{} is not there to be taken away", cite(setting.substr(0, equals))));
      return;
    }
    const std::string not_a_map = set_value(root, path, value);
    if (!not_a_map.empty()) {
      diagnostics_.add({&source, 0}, fmt::format("{} has no keys: set it whole", cite(not_a_map)),
                       "--set 'baseline={strategy: ddp}'");
    }
  }

  Experiment finish(const ParsedExperiment& parsed) const {
    Experiment experiment = parsed.experiment;
    for (const ParsedAxis& axis : parsed.matrix) experiment.matrix.push_back(axis.axis);
    for (const std::vector<ParsedAxis>& block : parsed.zip) {
      std::vector<Axis>& axes = experiment.zip.emplace_back();
      for (const ParsedAxis& axis : block) axes.push_back(axis.axis);
    }
    for (const ParsedCondition& exclude : parsed.exclude) {
      experiment.exclude_place = place_of(exclude.node->location);
      if (exclude.expression) {
        experiment.exclude_if.push_back({*exclude.expression, exclude.inherited});
      } else {
        experiment.exclude.push_back(exclude.condition);
      }
    }
    experiment.derive = in_order_of_need(parsed.derive);
    experiment.preparations = preparations_in_order(parsed);
    for (const ParsedPoint& point : parsed.include) experiment.include.push_back(point.point);
    for (const ParsedOverride& entry : parsed.overrides) {
      experiment.overrides.push_back(entry.override_);
      if (entry.when.expression) experiment.overrides.back().when_if = {*entry.when.expression, entry.when.inherited};
    }
    for (const ParsedImport& entry : parsed.imports) experiment.imports.push_back(entry.import);
    for (const ParsedReference& entry : parsed.references) {
      MetricReference& reference = experiment.report.references.emplace_back(entry.reference);
      if (!entry.when) continue;
      reference.when = entry.when->condition;
      reference.may_be_empty = entry.when->inherited;
      reference.when_if = entry.when->expression;
    }
    if (parsed.baseline) experiment.baseline = parsed.baseline->condition;
    settle_repeats(parsed, experiment);
    experiment.copies = copies_of(*file_, used_);
    experiment.profile = profile_;
    experiment.retired = retired_;
    experiment.notes.insert(experiment.notes.end(), notes_.begin(), notes_.end());
    if (experiment.site.name.empty()) experiment.site.name = "local";
    for (std::string& note : reach_notes(parsed)) experiment.notes.push_back(std::move(note));
    if (!experiment.runs_anything()) experiment.repeats = experiment.warmups = 0;
    if (const YamlNode* profiles = root_.find("profiles"); profiles != nullptr && profiles->is_map()) {
      for (const YamlKey& key : profiles->keys) experiment.profiles.push_back(key.name);
    }
    collect_origins(*parsed.root, "", experiment.origins);
    add_site_origins(experiment);
    experiment.has_gpus = names_gpus(*parsed.root) || asks_slurm_for_gpus(experiment);
    return experiment;
  }

  /// Refuses keys of earlier versions. A command that reads results remembers the first: the runs that had it are still on
  /// record.
  void refuse_retired(const YamlNode& root) {
    for (auto& [location, key] : find_retired_keys(root)) {
      if (!options_.looks_back) {
        diagnostics_.add(location, fmt::format("`{}` was retired", key.path), key.advice);
      } else if (!retired_) {
        retired_ = std::move(key);
      }
    }
  }

  /// A job asks for a GPU on each node unless the file or the site says otherwise.
  bool asks_slurm_for_gpus(const Experiment& experiment) const {
    if (!executor_kind(experiment.executor).steps || !experiment.runs_anything()) return false;
    const YamlNode* const extra = site_root_.is_map() ? site_root_.find("extra") : nullptr;
    if (extra != nullptr && names_gpus(*extra)) return true;
    const std::vector<std::string> axes = experiment.axis_names();
    const bool has_ranks = std::find(axes.begin(), axes.end(), kRanksPerNode) != axes.end();
    return experiment.site.gres_type != "none" && !experiment.work.resources.gres && !has_ranks;
  }

  /// What the site says, as `site.KEY`; and under its own name where the file leaves it to the site.
  void add_site_origins(Experiment& experiment) const {
    if (!site_source_ || !site_root_.is_map()) return;
    collect_origins(site_root_, "site", experiment.origins);
    for (const char* const key : {"executor", "modules", "setup", "limits.gpu_hours", "limits.node_hours"}) {
      const auto said = experiment.origins.find(std::string("site.") + key);
      if (said != experiment.origins.end()) experiment.origins.emplace(key, said->second);
    }
  }

  std::string path_;
  const ReadOptions& options_;
  // Expressions hold on to the text that they stand in.
  std::shared_ptr<const YamlSource> file_;
  std::shared_ptr<const YamlSource> site_source_;
  std::vector<std::shared_ptr<const YamlSource>> settings_;
  Diagnostics diagnostics_;
  YamlNode root_;
  YamlNode site_root_;
  Site site_;
  std::vector<UsedFile> used_;
  std::string profile_;             // those that were laid over the file, with commas between them
  std::vector<std::string> notes_;  // on where it came from
  std::optional<RetiredKey> retired_;
};

}  // namespace

Experiment parse_experiment(const std::string& text, const std::string& path, const ReadOptions& options) {
  return Reading(text, path, options).run();
}

Experiment read_experiment(const std::string& path, const ReadOptions& options) {
  ReadOptions with_site = options;
  if (!with_site.site) with_site.site = default_site();
  return parse_experiment(read_file(path), path, with_site);
}

}  // namespace hpcbench
