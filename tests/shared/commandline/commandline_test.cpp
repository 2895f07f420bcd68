#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "commandline/command.hpp"

using namespace hpcbench::commandline;

namespace {

using Words = std::vector<std::string>;

/// A program with one of everything, and what a command line sets of it.
struct Program {
  Program() {
    program.version("p 1.0");
    program.add_option("-l,--level", level, "for all").one_of({"low", "high"}).last_wins().everywhere();
    program.footer("The end.");
    program.add_command("work", "do it", [this](Command& work) { declare_work(work); });
    Command& box = program.add_command("box", "has commands");
    box.add_command("open", "").action([] { return 7; });
    box.add_command("shut", "", [this](Command& shut) { shut.add_option("WORDS", words, ""); });
  }

  void declare_work(Command& work) {
    ++declared;
    work.add_option("FILE", file, "what to read").required();
    work.add_option("SECOND", second, "");
    work.add_option("-o,--out", out, "where to").value_name("DIR").excludes({"--dry"});
    work.add_flag("-d,--dry", dry, "only say");
    work.add_flag("-v", verbose, "");
    work.add_option("-n", count, "how many").at_least(1);
    work.add_option("--size", size, "").needs("--out");
    work.add_option("--ratio", ratio, "").between(0.5, 2);
    work.add_option("--limit", limit, "");
    work.add_option("--kind", kind, "").one_of({"red", "blue"});
    work.add_option("--kinds", kinds, "").parts_of({"red", "blue"});
    work.add_option("--set", settings, "");
    work.add_option("--all", all, "").takes_all_that_follow();
    work.add_option("--switch", switched, "").value_name("BOOL").value_may_be_left_out().last_wins();
    work.add_option("--folder", folder, "");
    work.action([this] { return static_cast<int>(size); });
  }

  Parsed parse(const Words& arguments) { return hpcbench::commandline::parse(program, arguments); }
  void work(Words arguments) {
    arguments.insert(arguments.begin(), "work");
    CHECK_FALSE(parse(arguments).text.has_value());
  }

  Command program{"p", "A program."};
  int declared = 0;
  std::string level, file, second, out, kind = "red", kinds, switched = "unset";
  bool dry = false, verbose = false;
  int count = 0;
  std::uint64_t size = 20;
  double ratio = 1;
  std::optional<std::int64_t> limit;
  Words settings, words, all = {"first"};
  std::filesystem::path folder;
};

std::string error_of(const Words& arguments) {
  Program program;
  try {
    program.parse(arguments);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

std::string work_error(Words arguments) {
  arguments.insert(arguments.begin(), {"work", "f"});
  return error_of(arguments);
}

}  // namespace

TEST_CASE("values: every way to write an option") {
  for (const Words& arguments : {Words{"f", "--out", "x"}, {"--out=x", "f"}, {"-o", "x", "f"}, {"-ox", "f"}, {"f", "-vox"}}) {
    Program program;
    program.work(arguments);
    CHECK(program.file == "f");
    CHECK(program.out == "x");
  }
  Program program;
  program.work({"f", "g", "-dv", "-n", "3", "--ratio=0.5", "--limit", "-4", "--kind", "blue", "--set", "a=1", "--set=b=2",
                "--folder", "/x"});
  CHECK(program.second == "g");
  CHECK(program.dry);
  CHECK(program.verbose);
  CHECK(program.count == 3);
  CHECK(program.ratio == 0.5);
  CHECK(program.limit == -4);
  CHECK(program.kind == "blue");
  CHECK(program.settings == Words{"a=1", "b=2"});
  CHECK(program.folder == "/x");
  CHECK(program.all == Words{"first"});
  CHECK(program.switched == "unset");
}

TEST_CASE("values: empty, with dashes, behind --") {
  Program program;
  program.work({"--out", "--size", "--size=1", "--kinds=", "", "-7"});
  CHECK(program.out == "--size");
  CHECK(program.size == 1);
  CHECK(program.kinds.empty());
  CHECK(program.file.empty());
  CHECK(program.second == "-7");
  Program other;
  other.work({"--folder", "-median", "--", "--out", "--"});
  CHECK(other.folder == "-median");
  CHECK(other.file == "--out");
  CHECK(other.second == "--");
  CHECK(other.out.empty());
  Program lists;
  lists.parse({"box", "shut", "-", "a", "--", "-x", "", "-2"});
  CHECK(lists.words == Words{"-", "a", "-x", "", "-2"});
}

TEST_CASE("values that may be left out, and those that take all that follows") {
  const auto switched = [](const Words& arguments) {
    Program program;
    program.work(arguments);
    CHECK(program.file == "f");
    return program.switched;
  };
  CHECK(switched({"f", "--switch"}).empty());
  CHECK(switched({"--switch", "false", "f"}) == "false");
  CHECK(switched({"f", "--switch=false"}) == "false");
  CHECK(switched({"f", "--switch", "-d"}).empty());
  CHECK(switched({"f", "--switch=a", "--switch", "b"}) == "b");
  Program program;
  program.work({"f", "--all", "a", "b", "c", "--dry", "g"});
  CHECK(program.all == Words{"a", "b", "c"});
  CHECK(program.second == "g");
}

TEST_CASE("an option of the program stands before or behind the name of any command") {
  const auto level = [](const Words& arguments) {
    Program program;
    program.parse(arguments);
    return program.level;
  };
  CHECK(level({"--level", "high", "work", "f"}) == "high");
  CHECK(level({"-llow", "work", "f", "--level=high"}) == "high");
  CHECK(level({"box", "-l", "low", "shut", "--", "--level"}) == "low");
  CHECK(level({"box", "shut", "w", "--level", "low"}) == "low");
  Program program;
  program.work({"f", "--out=-l", "--folder", "--level"});  // values that look like it
  CHECK(program.out == "-l");
  CHECK(program.folder == "--level");
  CHECK(program.level.empty());
  CHECK(work_error({"--out", "-l", "low"}) == "--out needs a value: DIR");
  CHECK(error_of({"--level", "hihg", "work", "f"}) == "--level: `hihg` is not in {low,high} (did you mean `high`?)");
  CHECK(error_of({"--level"}) == "--level needs a value: TEXT:{low,high}");
  CHECK(error_of({"--level", "low"}) == "a command is required");
  CHECK(Program().parse({"work", "--help"}).text->find("--level") == std::string::npos);
  CHECK(Program().parse({"-l", "low", "--help"}).text->find("-l,--level TEXT:{low,high}") != std::string::npos);
}

TEST_CASE("mistakes in values") {
  CHECK(work_error({"-n", "x"}) == "-n: `x` is not a whole number of at least 1");
  CHECK(work_error({"-n0"}) == "-n: `0` is not a whole number of at least 1");
  CHECK(work_error({"-n", "1.5"}) == "-n: `1.5` is not a whole number of at least 1");
  CHECK(work_error({"-n", "99999999999"}) == "-n: 99999999999 is too large");
  CHECK(work_error({"-n", ""}) == "-n: `` is not a whole number of at least 1");
  CHECK(work_error({"-n"}) == "-n needs a value: INT");
  CHECK(work_error({"--out", "x", "--size=-1"}) == "--size: `-1` is not a whole number of at least 0");
  CHECK(work_error({"--ratio", "3"}) == "--ratio: `3` is not a number from 0.5 to 2");
  CHECK(work_error({"--ratio", "nan"}) == "--ratio: `nan` is not a number from 0.5 to 2");
  CHECK(work_error({"--limit", "x"}) == "--limit: `x` is not a whole number");
  CHECK(work_error({"--kind", "green"}) == "--kind: `green` is not in {red,blue}");
  CHECK(work_error({"--kind="}) == "--kind: `` is not in {red,blue}");
  CHECK(work_error({"--kinds", "green"}) == "no error");
  CHECK(work_error({"--out", "a", "--out", "b"}) == "--out may be given once, not 2 times");
  CHECK(work_error({"--out"}) == "--out needs a value: DIR");
  CHECK(work_error({"-x"}) == "there is no option `-x`");
  CHECK(work_error({"--dry=yes"}) == "--dry takes no value");
}

TEST_CASE("mistakes in what stands together") {
  CHECK(error_of({"work"}) == "FILE is required");
  CHECK(work_error({"--size", "1"}) == "--size requires --out");
  CHECK(work_error({"--out", "x", "--dry"}) == "--out excludes --dry");
  CHECK(work_error({"-d", "-o", "x"}) == "--out excludes --dry");
}

TEST_CASE("what is no option or command") {
  CHECK(work_error({"g", "h"}) == "unexpected argument `h`");
  CHECK(work_error({"--nosuch=1", "-x", "--FILE"}) == "there is no option `--nosuch`");
  CHECK(error_of({}) == "a command is required");
  CHECK(error_of({"box"}) == "a command is required");
  CHECK(error_of({"--nosuch", "work"}) == "there is no option `--nosuch`");
  CHECK(error_of({"--", "work"}) == "there is no option `--`");
  CHECK(error_of({"wrok", "--help"}) == "there is no command `wrok`");
  CHECK(error_of({"", "f"}) == "there is no command ``");
  const auto text = [](const Words& arguments) {
    try {
      Program().parse(arguments);
    } catch (const UsageError& error) {
      return error.text() + error.unknown_command;
    }
    return std::string("no error");
  };
  CHECK(text({"work", "f", "g", "h", "--dri=x"}) ==
        "error: there is no option `--dri` (did you mean `--dry`?)\nRead `p work --help`.");
  CHECK(text({"box", "opne", "x"}) == "error: there is no command `opne` (did you mean `open`?)\nRead `p box --help`.opne");
}

TEST_CASE("options are not abbreviated, and are told from values by their place alone") {
  CHECK(work_error({"--dr"}) == "there is no option `--dr`");
  CHECK(work_error({"--di", "g", "h"}) == "there is no option `--di`");
}

TEST_CASE("help and version") {
  const auto text = [](const Words& arguments) { return Program().parse(arguments).text.value_or("none"); };
  CHECK(text({"--version"}) == "p 1.0\n");
  CHECK(
      text({"--help"}) ==
      "A program.\nUsage: p [OPTIONS] SUBCOMMAND\n\nOptions:\n  -h,--help                   Print this help message and exit\n"
      "  --version                   Display program version information and exit\n"
      "  -l,--level TEXT:{low,high}  for all\n\nSubcommands:\n"
      "  work                        do it\n  box                         has commands\n\nThe end.\n");
  const std::string page = text({"work", "--help"});
  for (const char* const line :
       {"Usage: p work [OPTIONS] FILE [SECOND]\n",
        "\nPositionals:\n  FILE TEXT REQUIRED          what to read\n  SECOND TEXT\n",
        "\n  -o,--out DIR Excludes: --dry\n                              where to\n",
        "\n  -d,--dry Excludes: --out    only say\n", "\n  -n INT                      how many\n",
        "\n  --size UINT=20 Needs: --out\n", "\n  --ratio FLOAT=1\n", "\n  --kind TEXT:{red,blue}=red\n",
        "\n  --kinds TEXT:{red,blue},...\n", "\n  --all TEXT=[first]\n"}) {
    CHECK_MESSAGE(page.find(line) != std::string::npos, line);
  }
  CHECK(page.ends_with("\n\nThe end.\n"));
  CHECK(text({"box", "shut", "-h"}).find("Usage: p box shut [OPTIONS] [WORDS...]\n") != std::string::npos);
  for (const Words& arguments : {Words{"--help", "work"}, {"work", "-h"}, {"work", "--nosuch", "--help"}, {"work", "-dh"}}) {
    CHECK(text(arguments) == page);
  }
}

TEST_CASE("a command is declared when it is named, once, and gives the exit code") {
  Program program;
  CHECK(program.declared == 0);
  CHECK(program.parse({"box", "open"}).command->run() == 7);
  CHECK(program.declared == 0);
  CHECK(program.parse({"work", "f"}).command->run() == 20);
  CHECK(program.declared == 1);
  for (Command& command : program.program.commands()) CHECK_FALSE(command.options().empty());
  CHECK(program.declared == 1);
}
