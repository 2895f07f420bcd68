#include "cli/cli.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/log.hpp"
#include "base/terminal.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/complete_words.hpp"
#include "launch/probe_node.hpp"
#include "study/study_log.hpp"

namespace hpcbench {

namespace {

/// All commands, in the order of --help.
constexpr std::array kCommands = {
    CommandRow{"init", "write a commented starter experiment, or translate a benchmark of JUBE",
               "  hpcbench init scaling.yaml\n  hpcbench init study.yaml --from-log train.log\n  hpcbench init stream.yaml "
               "--from-jube stream.xml",
               add_init},
    CommandRow{"check", "read an experiment file and report every mistake in it",
               "  hpcbench check experiments/mnist_rnn.yaml\n  hpcbench check experiments/mnist_rnn.yaml --profile laptop",
               add_check},
    CommandRow{"plan", "show what `run` would do: configurations, runs, cost, new and kept",
               "  hpcbench plan experiments/mnist_rnn.yaml\n  hpcbench plan experiments/mnist_rnn.yaml --format json\n"
               "  hpcbench plan experiments/mnist_rnn.yaml --scripts /tmp/scripts",
               add_plan},
    CommandRow{"doctor", "say before anything is submitted what will not work, and what to do",
               "  hpcbench doctor experiments/mnist_rnn.yaml --site gpu-a100\n  hpcbench doctor", add_doctor},
    CommandRow{"run", "measure what has not been measured yet; carries on after any interruption",
               "  hpcbench run experiments/mnist_rnn.yaml --profile laptop\n"
               "  hpcbench run experiments/mnist_rnn.yaml --only strategy=ddp,nodes=1 --repeats 10\n"
               "  hpcbench run experiments/mnist_rnn.yaml --set parameters.lr=0.05 --slots 2\n"
               "  hpcbench run small.yaml large.yaml --site gpu-a100\n"
               "  hpcbench run                                          (carries on with what was run last)",
               add_run},
    CommandRow{"status", "counts, and where each run stands",
               "  hpcbench status\n  hpcbench status experiments/mnist_rnn.yaml --format json", add_status},
    CommandRow{"watch", "show where each run stands, live, until nothing is left to wait for; changes nothing",
               "  hpcbench watch\n  hpcbench watch experiments/mnist_rnn.yaml --only strategy=ddp\n"
               "  hpcbench watch --interval 5 | tee changes.log",
               add_watch},
    CommandRow{"cancel", "end running jobs and revoke those that have not begun",
               "  hpcbench cancel --yes\n  hpcbench cancel experiments/mnist_rnn.yaml --only strategy=ddp", add_cancel},
    CommandRow{"retry", "run again what did not succeed",
               "  hpcbench retry\n  hpcbench retry --only strategy=ddp --outcome timeout", add_retry},
    CommandRow{"set-aside", "leave runs out of tables without deleting anything, or take that back",
               "  hpcbench set-aside 3f2a/r03 --why 'a backup ran'\n  hpcbench set-aside --only nodes=4 --why 'wrong library'\n"
               "  hpcbench set-aside 3f2a/r03 --undo",
               add_set_aside},
    CommandRow{"scan", "find the numbers in logs and tables, and propose metrics that read them",
               "  hpcbench scan train.log\n  hpcbench scan results.csv --all\n  python train.py | hpcbench scan -\n"
               "  hpcbench scan train.log --write study.yaml --metric tokens_per_s --file stdout.log",
               add_scan},
    CommandRow{
        "ingest", "take in results that hpcbench did not start, or read all run directories into the index again",
        "  hpcbench ingest --experiment study.yaml --run ddp,nodes=2 old/ddp.out\n"
        "  hpcbench ingest --experiment study.yaml --run baseline --value 'train_s=63 min 48 s'\n  hpcbench ingest mnist_rnn",
        add_ingest},
    CommandRow{
        "report", "the table: medians, intervals, speedups, efficiencies, losses, outcomes",
        "  hpcbench report --format markdown\n  hpcbench report experiments/mnist_rnn.yaml --metric wall_s --format csv\n"
        "  hpcbench report --only epochs=2 --strict\n"
        "  hpcbench report --columns 'strategy,median=Time (min),speedup' --time-unit min --sort -speedup\n"
        "  hpcbench report --format html -o report.html",
        add_report},
    CommandRow{"plot", "pictures of the table: speedups, times, losses, phases, a timeline ...",
               "  hpcbench plot --kind speedup --out figures\n  hpcbench plot experiments/mnist_rnn.yaml --png\n"
               "  hpcbench plot --kind time --where epochs=2 --sort -median",
               add_plot},
    CommandRow{"compare", "two experiments, two commits or two sites: what became faster or slower, and what is only noise",
               "  hpcbench compare old.yaml new.yaml\n  hpcbench compare study.yaml --results results-a100 results-h100\n"
               "  hpcbench compare mnist_rnn@1f3a9c2 mnist_rnn@77b0e21 --fail-if 'slower > 5%'",
               add_compare},
    CommandRow{"show", "all that is known of one run",
               "  hpcbench show 3f2a/r01\n  hpcbench show strategy=ddp,gpus_per_node=2/r02 --path", add_show},
    CommandRow{"logs", "what a run printed",
               "  hpcbench logs 3f2a/r01\n  hpcbench logs 3f2a/r01 --rank 1 --stderr\n  hpcbench logs 3f2a/r01 -f", add_logs},
    CommandRow{"export", "put a study and its results into one archive that makes the same report anywhere, or unpack one",
               "  hpcbench export -o study.tar.zst\n  hpcbench report --archive study.tar.zst\n"
               "  hpcbench export --extract study.tar.zst --to study",
               add_export},
    CommandRow{"ls", "all studies of the results folder, and where they stand",
               "  hpcbench ls\n  hpcbench ls --results results-a100", add_ls},
    CommandRow{"clean", "list runs that nobody asks for any more and attempts that never ran; remove them only when told",
               "  hpcbench clean\n  hpcbench clean mnist_rnn --remove orphans\n  hpcbench clean --remove void --yes",
               add_clean},
    CommandRow{"db", "maintain the index and the lock", "  hpcbench db rebuild\n  hpcbench db unlock mnist_rnn", add_db},
    CommandRow{"launch", "run an attempt, or N ranks of a command, on this machine",
               "  hpcbench launch -n 2 -- hpcbench-train run --task mnist_rnn --strategy ddp --data data/mnist", add_launch},
    CommandRow{"rank", "start one rank of a program, as srun or mpirun asks for it; job scripts call it",
               "  srun -n 4 hpcbench rank -- python train.py\n  hpcbench rank -n 2 -- python train.py", add_rank},
    CommandRow{"help", "the options and examples of a command", "  hpcbench help run", add_help},
    CommandRow{"completion", "print a completion script for bash, zsh or fish",
               "  source <(hpcbench completion bash)\n  source <(hpcbench completion zsh)\n"
               "  hpcbench completion fish | source",
               add_completion},
    CommandRow{"demo", "run a small study, of the built-in trainer or else of a program in Python, and print its table",
               "  hpcbench demo\n  hpcbench demo --program /tmp/demo", add_demo},
    CommandRow{"schema", "print the JSON Schema of experiment or site files, for editors",
               "  hpcbench schema > experiment.schema.json\n  hpcbench schema site", add_schema},
    CommandRow{"man", "print the manual page of a command", "  hpcbench man run | man -l -\n  hpcbench man --out man/man1",
               add_man},
};

/// Maps the verbs of other programs to our commands.
struct OtherVerb {
  std::string_view verb;
  std::string_view command;
};

constexpr std::array kOtherVerbs = {
    OtherVerb{"list", "ls"},           OtherVerb{"studies", "ls"},      OtherVerb{"validate", "check"},
    OtherVerb{"lint", "check"},        OtherVerb{"verify", "check"},    OtherVerb{"submit", "run"},
    OtherVerb{"start", "run"},         OtherVerb{"execute", "run"},     OtherVerb{"exec", "run"},
    OtherVerb{"resume", "run"},        OtherVerb{"continue", "run"},    OtherVerb{"go", "run"},
    OtherVerb{"rerun", "retry"},       OtherVerb{"restart", "retry"},   OtherVerb{"stop", "cancel"},
    OtherVerb{"kill", "cancel"},       OtherVerb{"abort", "cancel"},    OtherVerb{"rm", "clean"},
    OtherVerb{"remove", "clean"},      OtherVerb{"delete", "clean"},    OtherVerb{"prune", "clean"},
    OtherVerb{"purge", "clean"},       OtherVerb{"diff", "compare"},    OtherVerb{"new", "init"},
    OtherVerb{"create", "init"},       OtherVerb{"generate", "init"},   OtherVerb{"setup", "init"},
    OtherVerb{"import", "ingest"},     OtherVerb{"load", "ingest"},     OtherVerb{"table", "report"},
    OtherVerb{"results", "report"},    OtherVerb{"result", "report"},   OtherVerb{"analyse", "report"},
    OtherVerb{"analyze", "report"},    OtherVerb{"analysis", "report"}, OtherVerb{"graph", "plot"},
    OtherVerb{"chart", "plot"},        OtherVerb{"figure", "plot"},     OtherVerb{"figures", "plot"},
    OtherVerb{"draw", "plot"},         OtherVerb{"view", "show"},       OtherVerb{"info", "show"},
    OtherVerb{"describe", "show"},     OtherVerb{"inspect", "show"},    OtherVerb{"log", "logs"},
    OtherVerb{"output", "logs"},       OtherVerb{"tail", "logs"},       OtherVerb{"cat", "logs"},
    OtherVerb{"queue", "status"},      OtherVerb{"ps", "status"},       OtherVerb{"progress", "status"},
    OtherVerb{"top", "watch"},         OtherVerb{"monitor", "watch"},   OtherVerb{"archive", "export"},
    OtherVerb{"pack", "export"},       OtherVerb{"dryrun", "plan"},     OtherVerb{"dry-run", "plan"},
    OtherVerb{"preview", "plan"},      OtherVerb{"expand", "plan"},     OtherVerb{"diagnose", "doctor"},
    OtherVerb{"version", "--version"},
};

/// Advice for a first word that is no command: another program's verb, or a file alone.
std::string advice_on_verb(const std::string& word) {
  for (const OtherVerb& other : kOtherVerbs) {
    if (word != other.verb) continue;
    if (other.command.starts_with('-')) return fmt::format("; write `hpcbench {}`", other.command);
    const auto row =
        std::find_if(kCommands.begin(), kCommands.end(), [&](const CommandRow& each) { return each.name == other.command; });
    return fmt::format("; `hpcbench {}` is for that: {}", other.command, row->summary);
  }
  if (word.ends_with(".yaml") || word.ends_with(".yml"))
    return fmt::format("; a file follows a command: `hpcbench run {}`", word);
  return "";
}

void add_commands(commandline::Command& program) {
  program.version("hpcbench " HPCBENCH_VERSION " (" HPCBENCH_BUILD ")");
  program.footer(
      "Examples:\n  hpcbench init scaling.yaml\n  hpcbench run scaling.yaml\n  hpcbench report --format markdown\n\n"
      "`hpcbench COMMAND --help` shows the options and examples of a command.\n"
      "Every command takes -v, -q and --log-level, too.\n"
      "Exit codes: 0 well; 1 some runs did not succeed; 2 the input is wrong; 3 an executor, lock or file is not available;\n"
      "4 internal error; 129, 130, 143 on SIGHUP, SIGINT, SIGTERM (jobs go on).");
  for (const CommandRow& command : kCommands) {
    program.add_command(command.name, command.summary, command.add).footer(fmt::format("Examples:\n{}", command.examples));
  }
}

/// What the log records and prints.
struct LogChoice {
  bool verbose = false, quiet = false;
  std::string level;
};

void add_log_options(commandline::Command& program, LogChoice& options) {
  program.add_flag("-v,--verbose", options.verbose, "print the log's records").everywhere();
  program.add_flag("-q,--quiet", options.quiet, "print only warnings and errors").everywhere();
  program.add_option("--log-level", options.level, "what is recorded; without it info")
      .one_of({"debug", "info", "warning", "error", "off"})
      .last_wins()
      .everywhere();
}

void apply(const LogChoice& options) {
  if (options.verbose) print_log(true);
  if (options.quiet) be_quiet();
  if (const std::optional<LogLevel> level = parse_log_level(options.level)) set_log_level(*level);
}

int run_parsed(int argc, char** argv) {
  commandline::Command program("hpcbench",
                               "hpcbench: a declarative experiment runner for scaling studies of distributed training");
  LogChoice log;
  add_log_options(program, log);
  add_commands(program);
  // What jobs of `doctor --probe` call on a node; no command for a person.
  if (argc >= 3 && argv[1] == std::string_view("probe-node")) return probe_node(argv[2], {argv + 3, argv + argc});
  // What the scripts of `completion` call.
  if (argc >= 2 && argv[1] == std::string_view("complete-words")) return complete_words(program, {argv + 2, argv + argc});
  try {
    const commandline::Parsed parsed = commandline::parse(program, {argv + 1, argv + argc});
    apply(log);
    if (!parsed.text) return parsed.command->run();
    print_data(*parsed.text);
    return 0;
  } catch (commandline::UsageError& error) {
    if (const std::string advice = advice_on_verb(error.unknown_command); !advice.empty()) error.advice = advice;
    fmt::print(stderr, "{}\n", error.text());
    return 2;
  }
}

int end_with_error(const std::string& text, int exit_code) {
  fmt::print(stderr, "{}\n", text);
  log_error(text);
  close_study_log(exit_code);
  return exit_code;
}

}  // namespace

void add_help(commandline::Command& command) {
  const auto name = std::make_shared<std::string>();
  command.add_option("COMMAND", *name, "which command").value_name("");
  command.action([name, &command] {
    commandline::Command& program = *command.parent();
    print_data(name->empty() ? program.help() : program.find(*name).help());
    return 0;
  });
}

int run_command_line(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_DFL);  // a closed pipe ends us quietly
  try {
    const int exit_code = run_parsed(argc, argv);
    close_study_log(exit_code);
    if (std::fflush(stdout) != 0) {
      fmt::print(stderr, "error: cannot write to standard output\n");
      return 3;
    }
    return exit_code;
  } catch (const InputError& error) {
    return end_with_error(error.what(), 2);
  } catch (const UnavailableError& error) {
    return end_with_error(error.what(), 3);
  } catch (const std::filesystem::filesystem_error& error) {
    return end_with_error(describe(error), 3);
  } catch (const std::exception& error) {
    const std::string advice = "This is a defect of hpcbench; what has been measured is safe on disk.";
    return end_with_error(fmt::format("internal error: {}\n{}", error.what(), advice), 4);
  }
}

}  // namespace hpcbench
