#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cli/completion/shell_words.hpp"
#include "cli/formats/check_messages.hpp"

namespace hpcbench {

namespace {

using Words = std::vector<std::string>;

TEST_CASE("a line is split as a shell does it") {
  const ShellWords split = split_shell_words(R"(hpcbench run 'my study.yaml' a\ b "c \"d" e)");
  CHECK(split.words == Words{"hpcbench", "run", "my study.yaml", "a b", "c \"d", "e"});
  CHECK(split.open_quote == 0);
  CHECK_FALSE(split.ends_in_blank);
  CHECK(split_shell_words("").ends_in_blank);
  CHECK(split_shell_words("run ").ends_in_blank);
  CHECK(split_shell_words("run ").words == Words{"run"});
  CHECK(split_shell_words("''").words == Words{""});
  CHECK(split_shell_words(R"("a\b\$c" 'd\e')").words == Words{R"(a\b$c)", R"(d\e)"});
}

TEST_CASE("an open quote is known, with what stands before it") {
  const ShellWords split = split_shell_words("run --only='a=1|");
  CHECK(split.words == Words{"run", "--only=a=1|"});
  CHECK(split.open_quote == '\'');
  CHECK(split.last_piece == std::string("--only=").size());
  CHECK(split_shell_words("run 'a ").words.back() == "a ");
  CHECK_FALSE(split_shell_words("run 'a ").ends_in_blank);
}

TEST_CASE("pieces end at breaks outside of quotes") {
  CHECK(split_shell_words("report --time-unit=h:m", "=:").last_piece == std::string("--time-unit=h:").size());
  CHECK(split_shell_words("report --time-unit=h:m", "").last_piece == 0);
  CHECK(split_shell_words("report 'h:m", ":").last_piece == 0);
  CHECK(split_shell_words("a=b c", "=").last_piece == 0);
}

TEST_CASE("what check says is read message by message") {
  const auto messages = read_messages(
      "a b.yaml:7:6: error: `x` is no axis: y\n  | - {x: 2}\n  |    ^\n  = axes: `a`\n--set:1:1: warning: odd\nnote: n\n");
  REQUIRE(messages.size() == 3);
  CHECK(messages[0].file == "a b.yaml");
  CHECK(messages[0].line == 7);
  CHECK(messages[0].column == 6);
  CHECK(messages[0].message == "`x` is no axis: y");
  CHECK(messages[0].advice == "axes: `a`");
  CHECK(messages[1].file == "--set");
  CHECK(messages[1].level == CheckMessage::Level::warning);
  CHECK(messages[2].level == CheckMessage::Level::note);
  CHECK(messages[2].file.empty());
  CHECK(read_messages("something else\n").front().message == "something else");
  CHECK(read_messages("").empty());
  const auto of_tables = read_messages("a/runs.csv:3: error: x\n  = line 4: y\nother.csv:2: error: z");
  REQUIRE(of_tables.size() == 2);
  CHECK((of_tables[0].file == "a/runs.csv" && of_tables[0].line == 3 && of_tables[0].column == 0));
  CHECK(of_tables[0].advice == "line 4: y");
  CHECK((of_tables[1].file == "other.csv" && of_tables[1].message == "z"));
  // What is quoted under a message is none.
  const auto quoted = read_messages("a:1:1: error: x\n  | see b:1:2: error: y\n  = as in c:1:2: error: z\n");
  REQUIRE(quoted.size() == 1);
  CHECK(quoted[0].advice == "as in c:1:2: error: z");
}

TEST_CASE("what ends a workflow command is escaped") {
  const CheckResult result{"f", {{.message = "50 %", .file = "a,b:c", .line = 2, .column = 3, .advice = "do"}}, {}, {}};
  CHECK(github_of_check(result) == "::error file=a%2Cb%3Ac,line=2,col=3::50 %25%0Ado\n");
}

}  // namespace

}  // namespace hpcbench
