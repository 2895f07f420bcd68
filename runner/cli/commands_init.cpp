#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "base/url.hpp"
#include "cli/command.hpp"
#include "cli/completion/shell_words.hpp"
#include "cli/scan_logs.hpp"
#include "jube/translate.hpp"
#include "plan/plan.hpp"
#include "recognise/known_tools.hpp"
#include "recognise/tool_results.hpp"
#include "scan/study_text.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kScanned = 10;  // proposals of a log

/// A command line as words. InputError for what has no words.
std::vector<std::string> split_command(const std::string& text) {
  const ShellWords split = split_shell_words(text);
  if (split.open_quote != 0) throw InputError(fmt::format("error: --command {}: a quote is not closed", text));
  if (split.words.empty() || split.words.front().empty()) throw InputError("error: --command names no program");
  return split.words;
}

/// A home folder or a pattern of files at the front of a word or of a part of a path.
bool is_expanded(std::string_view text, std::size_t at) {
  const bool is_front = at == 0 || std::string_view(" \t=/").find(text[at - 1]) != std::string_view::npos;
  return is_front && (text[at] == '*' || text[at] == '~');
}

/// Whether a shell would do more with it than cut it into words: pipes, redirections, variables, patterns of files, an
/// assignment in front, a word that only a shell knows.
bool needs_shell(std::string_view text) {
  static const std::set<std::string_view> kOfShell = {"time", "exec",   "command", "cd",  "source",
                                                      ".",    "ulimit", "export",  "eval"};
  if (kOfShell.count(text.substr(0, text.find_first_of(" \t"))) != 0) return true;
  const std::size_t name_end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
  if (name_end != std::string_view::npos && name_end > 0 && text[name_end] == '=') return true;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == '\'') {
      if (c == quote) quote = 0;
    } else if (c == '\\') {
      ++i;
    } else if (std::string_view(quote == 0 ? "$`|&;<>" : "$`").find(c) != std::string_view::npos ||
               (quote == 0 && is_expanded(text, i))) {
      return true;
    } else if (quote == '"' || c == '"' || c == '\'') {
      if (quote == 0 || c == quote) quote = quote == 0 ? c : '\0';
    }
  }
  return false;
}

/// What a study may be called whose file is called so.
std::string study_name(const std::string& file) {
  std::string name = std::filesystem::path(file).stem().string();
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return !is_plain_name(std::string{'x', c});
      },
      '_');
  name.erase(0, name.find_first_not_of(".-"));
  return is_plain_name(name) ? name : "study";
}

/// As a shell takes it: a name may have blanks, or begin like an option.
std::string as_argument(const std::string& file) { return shell_quote(file.front() == '-' ? "./" + file : file); }

void create(const std::string& file, const std::string& text) {
  if (!create_exclusively(file, text, kUserFile))
    throw InputError(fmt::format("error: {} exists already; name another file", file));
}

/// An absolute path as an editor's first line may have it: itself, or a file: URI (RFC 8089) where a blank would end it.
std::string as_schema(const std::string& path) {
  const std::string escaped = escape_url(path);
  return escaped == path ? path : "file://" + escaped;
}

/// For editors with yaml-language-server: keys are completed and checked. Empty where the schema is not installed, or where
/// nobody knows where this program is (no /proc).
std::string line_for_editors() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path schema = (program.parent_path() / "../share/hpcbench/schema/experiment.json").lexically_normal();
  if (error || !std::filesystem::is_regular_file(schema, error)) return "";
  return fmt::format("# yaml-language-server: $schema={}\n", as_schema(schema.string()));
}

/// A study of a command. What looks like a shell's syntax and is quoted is left to a shell. Nothing is written that `check`
/// would refuse, as for a placeholder that cannot be the name of an axis.
std::string starter_of_command(StarterOptions options, const std::string& file, const std::string& typed) {
  std::string text = starter_experiment(options);
  try {
    make_plan(parse_experiment(text, file, {}));
  } catch (const InputError& error) {
    if (!options.shell_text.empty()) {
      throw InputError(fmt::format("error: no study comes of this --command; {} would be refused:\n{}", file, error.what()));
    }
    options.shell_text = typed;
    return starter_of_command(std::move(options), file, typed);
  }
  return text;
}

/// Returns a study whose runs print what the log has; without a command, a study that imports the log.
std::string text_of_study(const std::string& file, const StarterOptions& options, const std::string& typed,
                          const std::vector<std::string>& logs) {
  if (options.command.empty()) return logs.empty() ? starter_experiment(options) : study_from_logs(options.name, file, logs);
  const std::string text = starter_of_command(options, file, typed);
  return logs.empty() ? text : with_metrics(text, file, choose_proposals(scan_logs(logs, kScanned), {}, "stdout.log"));
}

void init_file(const std::string& file, StarterOptions options, const std::string& typed,
               const std::vector<std::string>& logs) {
  options.name = study_name(file);
  const std::string text = text_of_study(file, options, typed, logs);
  create(file, line_for_editors() + text);
  const bool imports = !logs.empty() && options.command.empty();
  say(fmt::format("wrote {}. Next: hpcbench {} {}", file, imports ? "report" : "check", as_argument(file)));
}

constexpr const char* kResultsHead =
    "# Results that exist already. Every key is described in docs/experiment-file.md, `import` in docs/sources.md.\n"
    "#   hpcbench report FILE                          the table\n"
    "#   hpcbench ingest --experiment FILE --dry-run   what each run gives\n";

/// What `init --from-jube` is asked for.
struct FromJube {
  std::string file;
  std::vector<std::string> tags;
  std::string step;
};

constexpr std::uintmax_t kLargestJubeFile = 1'000'000;

/// Absent for what is no file, or too large a one.
std::optional<std::string> read_small_file(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  if (std::filesystem::file_size(path, error) > kLargestJubeFile) return std::nullopt;
  return read_file_if_there(path);
}

std::string read_jube_file(const std::string& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) throw InputError(fmt::format("error: there is no file {}", file));
  const auto text = read_small_file(file);
  if (!text) throw InputError(fmt::format("{}:1:1: error: a benchmark of JUBE is a file of at most 1 MB", file));
  return *text;
}

JubeTranslation translate(const FromJube& from, const std::string& file) {
  JubeRequest request{from.file,    read_jube_file(from.file), study_name(file), file, {from.tags.begin(), from.tags.end()},
                      std::nullopt, line_for_editors()};
  if (!from.step.empty()) request.step = from.step;
  request.home = std::filesystem::absolute(from.file).lexically_normal().parent_path().string();
  const char* const paths = std::getenv("JUBE_INCLUDE_PATH");
  for (const std::string& path : split(paths == nullptr ? "" : paths, ':')) {
    if (!path.empty()) request.include_path.push_back(std::filesystem::absolute(path).string());
  }
  const std::filesystem::path folder = std::filesystem::path(from.file).parent_path();
  return translate_jube(request, [&](const std::string& name) { return read_small_file(folder / name); });
}

/// Writes the experiment and its input decks, all of them or none. Exit code 1: a person must fill something in first.
int init_from_jube(const FromJube& from, const std::string& file) {
  const JubeTranslation translation = translate(from, file);
  for (const auto& [path, text] : translation.decks) {
    if (std::filesystem::exists(path))
      throw InputError(fmt::format("error: {} exists already; name another file than {}", path, file));
  }
  create(file, translation.text);
  for (const auto& [path, text] : translation.decks) {
    create(path, text);
    say(fmt::format("wrote {}, an input deck of {}", path, file));
  }
  for (const std::string& note : translation.notes) say(note);
  const std::string next = fmt::format("Next: hpcbench {} {}", translation.problem ? "check" : "plan", as_argument(file));
  const std::string listed =
      translation.notes.empty()
          ? ""
          : fmt::format("; what it does not say is listed above, {} in all, and in the file where it belongs",
                        counted(static_cast<long long>(translation.notes.size()), "note", "notes"));
  if (translation.problem) say(*translation.problem);
  const char* const checked =
      translation.problem ? "`hpcbench check` refuses it until what it finds is filled in" : "`hpcbench check` accepts it";
  say(fmt::format("wrote {}: {}{}. {}", file, checked, listed, next));
  if (!translation.problem && translation.to_fill_in == 0) return 0;
  if (!translation.problem) say("before it runs, fill in what the notes with FILL IN name");
  return 1;
}

/// A study of the results of another tool.
int init_from_results(const std::string& results, const std::string& file) {
  const ToolFiles files(results, std::filesystem::path(file).parent_path().string());
  const ToolStudy study = study_of_results(recognise_results(files), line_for_editors() + kResultsHead, study_name(file));
  try {
    make_plan(parse_experiment(study.text, file, {}));
  } catch (const InputError& error) {
    throw InputError(
        fmt::format("error: no study comes of {}; {} would be refused:\n{}", printable(results), file, error.what()));
  }
  create(file, study.text);
  for (const std::string& note : study.notes) say("note: " + printable(note));
  say(printable(study.summary));
  say(fmt::format("wrote {}. Next: hpcbench report {}", file, as_argument(file)));
  return 0;
}

}  // namespace

void add_init(commandline::Command& command) {
  const auto file = std::make_shared<std::string>("experiment.yaml");
  const auto options = std::make_shared<StarterOptions>();
  const auto program = std::make_shared<std::string>();
  const auto trainer = std::make_shared<std::string>();
  const auto from = std::make_shared<FromJube>();
  const auto logs = std::make_shared<std::vector<std::string>>();
  const auto results = std::make_shared<std::string>();
  command.add_option("FILE", *file, "the file to write; the study is named after it");
  command.add_option("RESULTS", *results, "with --import: a folder or file with results of another tool").needs("--import");
  const commandline::Option& of_program =
      command.add_option("--command", *program, "of a program of your own, as in `torchrun train.py --lr {{lr}}`")
          .value_name("TEXT")
          .excludes({"--trainer", "--import", "--from-jube"});
  command.add_option("--trainer", *trainer, "of the built-in trainer")
      .one_of(trainer_tasks())
      .excludes({"--import", "--from-jube"});
  command.add_flag("--import", options->import, "of results that exist already").excludes({"--from-jube"});
  command.add_option("--from-log", *logs, "of the numbers in this log; with --command, of runs that print it; may be repeated")
      .value_name("LOG")
      .excludes({"--trainer", "--import", "--from-jube"});
  command.add_option("--from-jube", from->file, "translate a benchmark of JUBE, XML or YAML; what it cannot say is listed")
      .value_name("JUBE_FILE");
  command.add_option("--tag", from->tags, "choose this tag of JUBE for good; other tags become profiles; may be repeated")
      .value_name("TAG")
      .needs("--from-jube");
  command.add_option("--step", from->step, "measure this step of JUBE and what it depends on, instead of the last")
      .value_name("STEP")
      .needs("--from-jube");
  command.action([=, &of_program] {
    if (!from->file.empty()) return init_from_jube(*from, *file);
    if (!results->empty()) return init_from_results(*results, *file);
    if (!trainer->empty()) options->trainer = *trainer;
    RE2::GlobalReplace(program.get(), R"(\{\{\s*([*]?\w+)\s*\}\})", R"({{\1}})");  // `{{ n }}` is one word
    if (of_program.is_given()) options->command = split_command(*program);
    if (needs_shell(*program)) options->shell_text = *program;
    init_file(*file, *options, *program, *logs);
    return 0;
  });
}

}  // namespace hpcbench
