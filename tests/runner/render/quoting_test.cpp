#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "rendering.hpp"

using namespace hpcbench;

namespace {

/// Any bytes but NUL, which no program can be passed, with a liking for what shells and templates act on.
rc::Gen<std::string> hostile_text() {
  const auto any_byte = rc::gen::map(rc::gen::inRange(1, 256), [](int byte) { return static_cast<char>(byte); });
  const auto special = rc::gen::elementOf(std::string("'\"\\$`!{}[]()<>|&;*?~#=%-\n\t \r"));
  const auto letters = rc::gen::container<std::string>(rc::gen::weightedOneOf<char>({{1, any_byte}, {3, special}}));
  const auto known = rc::gen::elementOf(std::vector<std::string>{"$(touch /tmp/x)",
                                                                 "`id`",
                                                                 "\n",
                                                                 "a\nb\n",
                                                                 "'",
                                                                 "\"",
                                                                 "-n",
                                                                 "--",
                                                                 "{{{x}}}",
                                                                 "{{p0}}",
                                                                 "{{",
                                                                 "}}",
                                                                 "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80",
                                                                 "",
                                                                 " ",
                                                                 "*",
                                                                 "~",
                                                                 "!!",
                                                                 "\\",
                                                                 "\\n",
                                                                 "$'a'",
                                                                 "[0]=x",
                                                                 "a=b",
                                                                 "\xFF\xFE",
                                                                 "EOF",
                                                                 ")",
                                                                 "# x",
                                                                 "%s",
                                                                 "\x1B[31m",
                                                                 "\r\n",
                                                                 "x\\\n"});
  return rc::gen::weightedOneOf<std::string>({{2, letters}, {1, known}});
}

/// Parameters p0, p1 ... with these values.
Bindings numbered_parameters(const std::vector<std::string>& texts) {
  Bindings parameters;
  for (std::size_t i = 0; i < texts.size(); ++i) parameters.emplace_back("p" + std::to_string(i), Value::from_text(texts[i]));
  return parameters;
}

std::string ended_by_nul(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += text + '\0';
  return out;
}

}  // namespace

TEST_CASE("any value reaches the program as exactly that argument, through real bash") {
  CHECK(rc::check("arguments, alone and inside others", [] {
    const auto texts = *rc::gen::resize(40, rc::gen::container<std::vector<std::string>>(hostile_text()));
    const RenderedFolder folder;
    std::vector<std::string> command = {"bash", "-c", "printf '%s\\0' \"$@\"", "print"};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      command.push_back("{{p" + std::to_string(i) + "}}");
      command.push_back("--x={{p" + std::to_string(i) + "}}{{run_dir}}'");
    }
    Experiment experiment = command_experiment(command);
    experiment.work.parameters = numbered_parameters(texts);
    const RenderedAttempt attempt = folder.write(experiment);
    std::vector<std::string> expected;
    for (const std::string& text : texts) {
      expected.push_back(text);
      expected.push_back("--x=" + text + attempt.folder + "/out'");
    }
    if (texts.empty()) expected.emplace_back();  // printf without arguments writes one empty text
    RC_ASSERT(folder.run_script(attempt) == 0);
    RC_ASSERT(read_file(attempt.folder + "/stdout.log") == ended_by_nul(expected));
  }));
}

TEST_CASE("any value is one word of a set-up line and of a shell's text, through real bash") {
  CHECK(rc::check("words", [] {
    const auto texts = *rc::gen::resize(40, rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(hostile_text())));
    const bool shell = *rc::gen::arbitrary<bool>();
    const RenderedFolder folder;
    std::string words;
    for (std::size_t i = 0; i < texts.size(); ++i) words += " {{p" + std::to_string(i) + "}}";
    Experiment experiment =
        command_experiment({shell ? "printf '%s\\0'" + words + " && cat \"$kept\" {{run_dir}}/../run.json" : "true"});
    experiment.work.shell = shell;
    experiment.work.setup = {"kept=/dev/null", "printf '%s\\0'" + words};
    experiment.work.parameters = numbered_parameters(texts);
    const RenderedAttempt attempt = folder.write(experiment);
    RC_ASSERT(folder.run_script(attempt) == 0);
    const std::string once = ended_by_nul(texts);
    RC_ASSERT(read_file(attempt.folder + "/stdout.log") == (shell ? once + once + attempt.run_json : once));
  }));
}

TEST_CASE("hostile names of folders and experiments' texts stay text, too") {
  RenderedFolder folder;
  folder.context.results = folder.folder / "it's $(touch oops) {{x}}\n/results";
  folder.context.call_folder = folder.folder / "call $(touch oops)'\n";
  make_folders(folder.context.call_folder);
  Experiment experiment = command_experiment({"cat {{run_dir}}/../run.json"});
  experiment.work.shell = true;
  experiment.description = "# \n touch oops\n";
  experiment.matrix.push_back({"text", {Value::from_text("a\ntouch oops\n")}});
  const RenderedAttempt attempt = folder.write(experiment);
  CHECK(folder.run(attempt, "t") == 0);
  CHECK(read_file(attempt.folder + "/stdout.log") == attempt.run_json);
  CHECK(folder.run(attempt, "") == 0);
  CHECK(read_file(folder.manual_folder() + "/stdout.log") == attempt.run_json);
  CHECK(names_in(folder.context.call_folder).size() == 1);
}
