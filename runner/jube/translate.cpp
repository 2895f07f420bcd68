#include "jube/translate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "jube/decks.hpp"
#include "jube/draft.hpp"
#include "jube/includes.hpp"
#include "jube/jube_tree.hpp"
#include "jube/parameters.hpp"
#include "jube/patterns.hpp"
#include "jube/sets.hpp"
#include "jube/steps.hpp"
#include "jube/tags.hpp"
#include "plan/plan.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kMostProfiles = 20;
constexpr std::size_t kMostFolders = 50;  // folders searched for another file

/// The translation for one choice of tags.
struct Translated {
  Draft draft;
  std::vector<std::string> notes;  // with their places
  std::vector<std::pair<std::string, std::string>> decks;
};

/// Returns the names that the file's `selection` lists as `only` or `not`.
std::set<std::string> selected(const JubeNode& root, std::string_view which) {
  std::set<std::string> names;
  for (const JubeNode* selection : root.all("selection")) {
    for (const JubeNode* each : selection->all(which)) {
      for (const std::string& name : each->parts()) names.insert(name);
    }
  }
  return names;
}

/// Returns the first benchmark that JUBE runs.
const JubeNode& first_benchmark(const JubeNode& root, Draft& draft) {
  std::vector<const JubeNode*> benchmarks = root.all("benchmark");
  const std::set<std::string> only = selected(root, "only");
  const std::set<std::string> without = selected(root, "not");
  std::erase_if(benchmarks, [&](const JubeNode* each) {
    const std::string name = each->attribute("name");
    return (!only.empty() && !only.contains(name)) || without.contains(name);
  });
  if (benchmarks.empty() && !root.all("benchmark").empty())
    refuse_jube(root.place, "the `selection` of this file leaves no benchmark");
  if (benchmarks.empty()) {
    refuse_jube(root.place, "there is no `benchmark` in this file",
                "give the file that `jube run` takes, not one that it includes");
  }
  for (std::size_t i = 1; i < benchmarks.size(); ++i) {
    draft.note(benchmarks[i]->place, "description",
               fmt::format("the benchmark `{}` is left out: an experiment file is one study; put it into a file of its own",
                           benchmarks[i]->attribute("name")));
  }
  return *benchmarks.front();
}

void note_beside(const JubeNode& root, const JubeNode& benchmark, Draft& draft) {
  for (const JubeNode* parent : {&root, &benchmark}) {
    for (const JubeNode* include : parent->all("include"))
      draft.note(include->place, "description", "FILL IN: " + missing_include(*include));
  }
}

/// Returns the folders in which JUBE searches for other files: those of this file, then those of the environment.
std::vector<std::string> include_path(const JubeNode& root, const JubeRequest& request, Draft& draft) {
  std::vector<std::string> folders;
  for (const JubeNode* path : root.all("include-path")) {
    std::vector<const JubeNode*> each = path->all("path");
    if (!path->text.empty()) each.insert(each.begin(), path);
    for (const JubeNode* one : each) {
      if (one->text.find_first_of("$~") == std::string::npos) {
        folders.push_back(one->text);
      } else {
        draft.note(one->place, "description",
                   fmt::format("files are not looked for in `{}`: write the path, or name it in JUBE_INCLUDE_PATH", one->text));
      }
    }
  }
  folders.insert(folders.end(), request.include_path.begin(), request.include_path.end());
  folders.resize(std::min(folders.size(), kMostFolders));
  return folders;
}

/// Returns a request as if the JUBE file lay in its benchmark's `file_path_ref`: files and `$jube_benchmark_home` are relative
/// to it.
JubeRequest seen_from(const JubeNode& benchmark, const JubeRequest& request) {
  const std::filesystem::path folder = benchmark.attribute("file_path_ref");
  const std::filesystem::path file = request.path;
  JubeRequest seen = request;
  if (folder.empty()) return seen;
  seen.path = (file.parent_path() / folder / file.filename()).lexically_normal().string();
  if (!request.home.empty()) {
    const std::string home = (std::filesystem::path(request.home) / folder / "").lexically_normal().string();
    seen.home = home.size() > 1 ? home.substr(0, home.size() - 1) : home;
  }
  return seen;
}

Translated translate_tree(const JubeNode& root, const std::set<std::string>& tags, const JubeRequest& said,
                          const JubeFiles& beside, JubeIncludes& includes) {
  Translated result;
  Draft& draft = result.draft;
  const JubeNode& benchmark = first_benchmark(root, draft);
  note_beside(root, benchmark, draft);
  includes.look_in(include_path(root, said, draft));
  const JubeRequest request = seen_from(benchmark, said);
  const std::filesystem::path folder = benchmark.attribute("file_path_ref");
  const JubeFiles files = [&](const std::string& name) { return beside((folder / name).string()); };
  for (const JubeNode* comment : benchmark.all("comment")) {
    if (!comment->text.empty()) draft.values["description"] = json_quote(comment->text);
  }
  JubeSets sets(root, benchmark, tags, includes);
  const std::vector<const JubeNode*> chain = chain_of_steps(benchmark, request, draft);
  JubeParameters parameters(benchmark.attribute("name"), chain.back()->attribute("name"), request.home);
  std::vector<std::vector<const JubeNode*>> used;  // by each step; later steps see only parameters
  for (const JubeNode* step : chain) {
    used.push_back(sets.used_by(*step, "parameters", draft));
    for (const JubeNode* set : used.back()) {
      for (const JubeNode* parameter : set->all("parameter")) parameters.add(*parameter, set->attribute("duplicate"), draft);
    }
  }
  if (!sets.complete()) parameters.mark_incomplete();
  parameters.resolve();
  parameters.write(draft);
  JubeDecks decks(parameters, request, draft);
  std::vector<StepFiles> brought;
  for (std::size_t i = 0; i + 1 < chain.size(); ++i)
    brought.push_back(files_of_preparation(*chain[i], used[i], parameters, request, files, draft, decks));
  brought.push_back(write_files(used.back(), parameters, request, files, draft, decks));
  result.decks = decks.take();
  write_steps(chain, brought, parameters, draft);
  write_results(benchmark, chain, parameters, sets, draft);
  for (const JubeNote& note : draft.notes)
    result.notes.push_back(fmt::format("{}: note: {}", note.place, printable(note.message)));
  return result;
}

std::optional<std::string> problem_of(const std::string& text, const std::string& path, const std::string& profile) {
  try {
    ReadOptions options;
    if (!profile.empty()) options.profile = profile;
    make_plan(parse_experiment(text, path, options));
    return std::nullopt;
  } catch (const InputError& error) {
    return error.what();
  }
}

/// Returns a profile for each single tag that changes something.
Draft::Entries profiles_of(const JubeNode& tree, const Draft& base, const JubeRequest& request, const JubeFiles& files,
                           JubeIncludes& includes, std::vector<std::string>& notes) {
  std::set<std::string> tags;
  bool combined = false;
  collect_tags(tree, tags, combined);
  Draft::Entries profiles;
  for (const std::string& tag : tags) {
    if (request.tags.contains(tag) || !is_plain_name(tag) || profiles.size() == kMostProfiles) continue;
    std::set<std::string> chosen = request.tags;
    chosen.insert(tag);
    try {
      const Translated other = translate_tree(choose_by_tags(tree, chosen), chosen, request, files, includes);
      const std::string changes = difference(base, other.draft);
      if (!changes.empty()) profiles.emplace_back(tag, changes);
    } catch (const InputError& error) {
      notes.push_back(
          fmt::format("{}:1:1: note: the tag `{}` gives no profile: {}", request.path, tag, split(error.what(), '\n').front()));
    }
  }
  if (combined && !tags.empty()) {
    notes.push_back(fmt::format(
        "{}:1:1: note: tags are combined in this file, and a profile is one tag alone: `--tag {}` translates a combination",
        request.path, join({tags.begin(), tags.end()}, " --tag ")));
  }
  return profiles;
}

std::string title_of(const JubeRequest& request, const JubeNode& tree) {
  std::string title =
      request.first_line + fmt::format("# Translated from {} by `hpcbench init --from-jube`.\n", printable(request.path));
  for (const JubeNode* benchmark : tree.all("benchmark")) {
    if (!benchmark->attribute("name").empty())
      title += fmt::format("# JUBE's benchmark {}.\n", printable(benchmark->attribute("name")));
    break;
  }
  return title + fmt::format("experiment: {}\n", yaml_text(request.name));
}

}  // namespace

JubeTranslation translate_jube(const JubeRequest& request, const JubeFiles& files) {
  const YamlSource source(request.path, request.text);
  JubeNode tree = read_jube_tree(source);
  JubeIncludes includes(files);
  Draft unused;  // the same notes would follow
  includes.look_in(include_path(choose_by_tags(tree, request.tags), request, unused));
  includes.expand(tree);
  const JubeNode chosen = choose_by_tags(tree, request.tags);
  Translated translated = translate_tree(chosen, request.tags, request, files, includes);
  JubeTranslation result;
  result.notes = std::move(translated.notes);
  result.decks = std::move(translated.decks);
  result.to_fill_in = static_cast<std::size_t>(
      std::count_if(translated.draft.notes.begin(), translated.draft.notes.end(),
                    [](const JubeNote& note) { return note.message.find("FILL IN") != std::string::npos; }));
  const Draft::Entries profiles = profiles_of(tree, translated.draft, request, files, includes, result.notes);
  const std::string title = title_of(request, tree);
  result.text = write_draft(translated.draft, title, profiles);
  result.problem = problem_of(result.text, request.output, "");
  for (const auto& [name, changes] : profiles) {
    if (!result.problem) result.problem = problem_of(result.text, request.output, name);
  }
  return result;
}

}  // namespace hpcbench
