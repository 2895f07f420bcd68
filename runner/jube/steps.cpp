#include "jube/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.hpp"
#include "base/value.hpp"
#include "jube/references.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kMostSteps = 200;

std::vector<std::string> depends_on(const JubeNode& step) {
  std::vector<std::string> names;
  for (const std::string& name : split(step.attribute("depend"), ',')) {
    if (!trim(name).empty()) names.emplace_back(trim(name));
  }
  return names;
}

class Chain {
 public:
  Chain(const std::vector<const JubeNode*>& steps, Draft& draft) : steps_(steps), draft_(draft) {}

  void add(const JubeNode& step) {
    if (std::find(open_.begin(), open_.end(), &step) != open_.end())
      refuse_jube(step.place, "steps depend on each other in a circle");
    if (std::find(chain_.begin(), chain_.end(), &step) != chain_.end()) return;
    open_.push_back(&step);
    for (const std::string& name : depends_on(step)) {
      const auto found =
          std::find_if(steps_.begin(), steps_.end(), [&](const JubeNode* each) { return each->attribute("name") == name; });
      if (found == steps_.end()) {
        draft_.note(step.place, "prepare",
                    fmt::format("there is no step `{}`, on which `{}` depends", name, step.attribute("name")));
      } else {
        add(**found);
      }
    }
    open_.pop_back();
    chain_.push_back(&step);
  }
  std::vector<const JubeNode*> take() { return std::move(chain_); }

 private:
  const std::vector<const JubeNode*>& steps_;
  Draft& draft_;
  std::vector<const JubeNode*> open_;
  std::vector<const JubeNode*> chain_;
};

/// Returns the last step that no other depends on.
const JubeNode* last_step(const std::vector<const JubeNode*>& steps) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const std::string name = (*step)->attribute("name");
    const bool needed = std::any_of(steps.begin(), steps.end(), [&](const JubeNode* other) {
      const std::vector<std::string> names = depends_on(*other);
      return std::find(names.begin(), names.end(), name) != names.end();
    });
    if (!needed) return *step;
  }
  return steps.back();
}

struct Attribute {
  std::string_view name;
  std::string_view why;
};
// Attributes that hpcbench covers itself (do_log_file, suffix) are not listed.
constexpr Attribute kOfStep[] = {
    {"shared", "runs know nothing of each other; what follows all of them reads `hpcbench report --format json`"},
    {"cycles", "a run is one execution; what a program repeats is its own affair"},
    {"work_dir", "a run's folder is its attempt's; `workdir` names another"},
    {"procs", "use `hpcbench run --slots N`"},
    {"max_async", "use `hpcbench run --slots N`"}};
constexpr Attribute kOfDo[] = {
    {"shared", "runs know nothing of each other; what follows all of them reads `hpcbench report --format json`"},
    {"done_file",
     "FILL IN the command: hpcbench submits jobs itself (`--site NAME`) and waits for them: write the program here, not the "
     "command that submits "
     "it"},
    {"error_file", "how each run ended is recorded; `success` may require more"},
    {"break_file", "a run is one execution"},
    {"stdout", "output is in stdout.log; redirect it in the command"},
    {"stderr", "output is in stderr.log; redirect it in the command"}};

bool is_said(const std::string& value) { return !value.empty() && value != "false" && value != "False" && value != "none"; }

template <std::size_t N>
void note_attributes(const JubeNode& node, const Attribute (&attributes)[N], std::string_view key, Draft& draft) {
  for (const Attribute& each : attributes) {
    const std::string value = node.attribute(each.name);
    if (is_said(value))
      draft.note(node.place, key, fmt::format("{}=\"{}\" has no counterpart: {}", each.name, value, each.why));
  }
}

/// Returns whether a script may change its folder: the word `cd` or `pushd` in any place where a command may begin.
bool changes_folder(const std::string& script) {
  for (const std::string_view word : {"cd", "pushd"}) {
    for (std::size_t at = script.find(word); at != std::string::npos; at = script.find(word, at + 1)) {
      const bool begins = at == 0 || std::string_view(" \t\n;&|(`").find(script[at - 1]) != std::string_view::npos;
      const std::size_t end = at + word.size();
      if (begins && (end == script.size() || std::string_view(" \t\n;&)").find(script[end]) != std::string_view::npos))
        return true;
    }
  }
  return false;
}

/// JUBE runs each `do` in its own shell, which begins in the step's folder, or in the `do`'s `work_dir`.
std::string script_of(const JubeNode& each, bool is_last, const std::string& folder, const JubeParameters& parameters,
                      const std::string& key, Draft& draft) {
  const std::string own_folder = parameters.fill(each.attribute("work_dir"), each.place, key, draft);
  std::string script = parameters.fill(each.text, each.place, key, draft);
  if (climbs_out(script)) {
    draft.note(each.place, key,
               "FILL IN the command: `../../../` leads elsewhere than from JUBE's folder: begin with another path");
  }
  if (!own_folder.empty()) script = fmt::format("mkdir -p \"{0}\"\ncd \"{0}\"\n{1}", own_folder, script);
  if (!is_last && (!own_folder.empty() || changes_folder(each.text))) script += fmt::format("\ncd \"{}\"", folder);
  return script;
}

/// Notes a step that JUBE runs for no point, or only for some.
void note_inactive(const JubeNode& step, const JubeParameters& parameters, std::string_view key, Draft& draft) {
  if (is_active(step, parameters, key, draft)) return;
  draft.note(step.place, key,
             fmt::format("FILL IN the command: JUBE does not run the step `{}`: active=\"{}\"", step.attribute("name"),
                         step.attribute("active")));
}

/// Returns the step's `do`s in order. `folder` is the step's, where they begin.
std::string body_of(const JubeNode& step, const std::string& folder, const JubeParameters& parameters, const std::string& key,
                    Draft& draft) {
  note_attributes(step, kOfStep, key, draft);
  note_inactive(step, parameters, key, draft);
  std::vector<const JubeNode*> active;
  for (const JubeNode& child : step.children) {
    if (child.tag == "include") draft.note(child.place, key, "FILL IN the command: " + missing_include(child));
    if (child.tag != "do" || !is_active(child, parameters, key, draft)) continue;
    note_attributes(child, kOfDo, key, draft);
    if (child.has_flag("shared")) {
      draft.note(child.place, key, fmt::format("left out: `{}`", child.text));
    } else if (!child.text.empty()) {
      active.push_back(&child);
    }
  }
  std::vector<std::string> lines;
  for (const JubeNode* each : active) {
    if ((active.size() > 1 || key == "prepare") && each->text.find('\n') != std::string::npos)
      draft.note(each->place, key, "the script ends at the first line that fails, where JUBE continues to the end of a `do`");
    lines.push_back(script_of(*each, each == active.back(), folder, parameters, key, draft));
  }
  return lines.empty() ? "true" : join(lines, "\n");
}

/// Returns the value of the preparation's `command`, a list.
std::string command_of(const std::string& script) {
  std::string text = "\ncommand:\n  - bash\n  - -c\n  - ";
  const std::vector<std::string> lines = split(yaml_script(script), '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) text += i == 0 ? lines[i] : lines[i].empty() ? "\n" : "\n    " + lines[i];
  return text;
}

/// In JUBE, a step that another depends on is a link of its name in the other's folder.
std::string links(const std::vector<const JubeNode*>& before) {
  std::string text;
  for (const JubeNode* step : before) {
    text += fmt::format("ln -sfn \"{{{{{}.dir}}}}\" {}\n", preparation_name(*step), step->attribute("name"));
  }
  return text;
}

void write_preparation(const JubeNode& step, const std::vector<const JubeNode*>& before, const StepFiles& files,
                       const JubeParameters& parameters, Draft& draft) {
  const std::string name = preparation_name(step);
  const std::string folder = fmt::format("{{{{{}.dir}}}}", name);
  JubeParameters own = parameters;
  own.enter(step.attribute("name"), folder);
  const std::string script =
      fmt::format("set -e\n{}cd \"{}\"\n{}ln -s ../stdout.log stdout\nln -s ../stderr.log stderr\n{}{}", files.before, folder,
                  links(before), files.inside, body_of(step, folder, own, "prepare", draft));
  if (is_said(step.attribute("iterations")) && step.attribute("iterations") != "1") {
    draft.note(step.place, "prepare",
               fmt::format("{}: iterations=\"{}\": a preparation is made once", name, step.attribute("iterations")));
  }
  if (step.has_flag("export")) {
    draft.note(step.place, "prepare",
               fmt::format("FILL IN the command: {}: export=\"true\": variables that this step sets do not reach those after "
                           "it; use `environment` or `setup`",
                           name));
  }
  draft.set("prepare", name, command_of(script));
}

void write_repeats(const JubeNode& step, const JubeParameters& parameters, Draft& draft) {
  const std::string iterations = step.attribute("iterations");
  const std::optional<long long> count = Value::from_plain(parameters.constant(iterations).value_or("")).integer();
  if (!iterations.empty() && (!count || *count < 1))
    draft.note(step.place, "repeats", fmt::format("FILL IN repeats: iterations=\"{}\"", iterations));
  draft.values["repeats"] = count && *count > 0 ? std::to_string(*count) : "1";
}

}  // namespace

bool is_active(const JubeNode& node, const JubeParameters& parameters, std::string_view key, Draft& draft) {
  const std::string active = node.attribute("active");
  const std::string value = parameters.constant(active).value_or(active);
  if (value == "false" || value == "False" || value == "0") return false;
  if (!value.empty() && !node.has_flag("active") && value != "true" && value != "True" && value != "1") {
    draft.note(
        node.place, key,
        fmt::format("FILL IN the command: active=\"{}\" is not translated: use `exclude` for points, or an `if` in the command",
                    active));
  }
  return true;
}

std::string script_of_prepare(const JubeNode& prepare, const std::string& folder, const JubeParameters& parameters,
                              const std::string& key, Draft& draft) {
  note_attributes(prepare, kOfDo, key, draft);
  return script_of(prepare, /*is_last=*/false, folder, parameters, key, draft) + "\n";
}

std::string preparation_name(const JubeNode& step) {
  std::string name = step.attribute("name");
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

std::vector<const JubeNode*> chain_of_steps(const JubeNode& benchmark, const JubeRequest& request, Draft& draft) {
  const std::vector<const JubeNode*> steps = benchmark.all("step");
  if (steps.empty()) {
    refuse_jube(benchmark.place, "this benchmark has no `step`: there is nothing to run",
                "give the file that `jube run` takes, not one that it includes");
  }
  if (steps.size() > kMostSteps) refuse_jube(benchmark.place, fmt::format("this benchmark has more than {} steps", kMostSteps));
  for (const JubeNode* step : steps) {
    if (!is_plain_name(step->attribute("name")))
      refuse_jube(step->place, "a step needs a `name` of letters, digits, `.`, `_` and `-`");
  }
  const JubeNode* chosen = last_step(steps);
  if (request.step) {
    const auto named = std::find_if(steps.begin(), steps.end(),
                                    [&](const JubeNode* step) { return step->attribute("name") == *request.step; });
    if (named == steps.end()) refuse_jube(benchmark.place, fmt::format("this benchmark has no step `{}`", *request.step));
    chosen = *named;
  }
  Chain chain(steps, draft);
  chain.add(*chosen);
  std::vector<const JubeNode*> found = chain.take();
  for (const JubeNode* step : steps) {
    const std::string name = step->attribute("name");
    if (std::find(found.begin(), found.end(), step) == found.end()) {
      draft.note(
          step->place, "command",
          fmt::format("the step `{}` is left out: one experiment measures one chain of steps; `--step {}` translates this one",
                      name, name));
    }
  }
  return found;
}

void write_steps(const std::vector<const JubeNode*>& chain, const std::vector<StepFiles>& files,
                 const JubeParameters& parameters, Draft& draft) {
  const JubeNode& run = *chain.back();
  const std::vector<const JubeNode*> before(chain.begin(), chain.end() - 1);
  for (std::size_t i = 0; i < before.size(); ++i) {
    std::vector<const JubeNode*> needed;
    for (std::size_t j = 0; j < i; ++j) {
      const std::vector<std::string> names = depends_on(*before[i]);
      if (std::find(names.begin(), names.end(), before[j]->attribute("name")) != names.end()) needed.push_back(before[j]);
    }
    write_preparation(*before[i], needed, files[i], parameters, draft);
  }
  const std::string first = links(before) + files.back().inside;
  const std::string body = first + body_of(run, "{{run_dir}}", parameters, "command", draft);
  const std::vector<const JubeNode*> commands = run.all("do");
  const bool moves =
      std::any_of(commands.begin(), commands.end(), [](const JubeNode* each) { return !each->attribute("work_dir").empty(); });
  const bool is_one = first.empty() && commands.size() <= 1 && !moves;
  const std::string script = is_one || body.find('\n') == std::string::npos ? body : "set -e\n" + body;
  draft.lists["command"] = {"bash", "-c", yaml_script(script)};
  draft.values["launch"] = "once";
  draft.values["workdir"] = "attempt";
  write_repeats(run, parameters, draft);
}

}  // namespace hpcbench
