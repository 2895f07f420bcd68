// What is no benchmark of JUBE is refused at its place, whatever it is.
#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <string>

#include "base/error.hpp"
#include "fakes/checks.hpp"
#include "jube/jube_tree.hpp"
#include "jube/references.hpp"
#include "jube/tags.hpp"
#include "jube/translate.hpp"

using namespace hpcbench;

namespace {

std::string refusal(const std::string& text) {
  return error_of<InputError>([&] {
    translate_jube({"x.xml", text, "study", "study.yaml", {}, std::nullopt}, [](const std::string&) { return std::nullopt; });
  });
}

bool begins(const std::string& text, const std::string& with) { return text.substr(0, with.size()) == with; }

std::string step_with(const std::string& parameters, const std::string& command) {
  return "<jube><benchmark name='b'><parameterset name='p'>" + parameters + "</parameterset><step name='s'><use>p</use><do>" +
         command + "</do></step></benchmark></jube>";
}

}  // namespace

TEST_CASE("entities of a document type are refused, and none is ever expanded or opened") {
  const std::string bomb = "<!DOCTYPE jube [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]>\n<jube><benchmark name='&b;'/></jube>";
  CHECK(begins(refusal(bomb), "x.xml:1:1: error: a document type with definitions"));
  CHECK(begins(refusal("<?xml version='1.0'?>\n<!DOCTYPE jube [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><jube>&x;</jube>"),
               "x.xml:2:1: error: a document type with definitions"));
  const std::string outside =
      "<!DOCTYPE jube SYSTEM \"jube.dtd\">" + step_with("<parameter name='t'>&x;</parameter>", "echo $t");
  const JubeTranslation result = translate_jube({"x.xml", outside, "study", "study.yaml", {}, std::nullopt},
                                                [](const std::string&) { return std::nullopt; });
  CHECK(result.text.find("t: \"&x;\"") != std::string::npos);
}

TEST_CASE("what is too large or too deep is refused") {
  CHECK(begins(refusal("<jube>" + std::string(10'000'000, ' ') + "</jube>"), "x.xml:1:1: error: the file has"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  CHECK(begins(refusal(deep), "x.xml:"));
  std::string closed = "<jube>";
  for (int i = 0; i < 60; ++i) closed += "<a>";
  for (int i = 0; i < 60; ++i) closed += "</a>";
  CHECK(refusal(closed + "</jube>").find("error: elements nest deeper than 50") != std::string::npos);
  CHECK(refusal(std::string(5000, '[')).find("error: ") != std::string::npos);
  std::string brackets(1000, '(');
  CHECK(refusal("<jube><benchmark name='b' tag='" + brackets + "a'/></jube>").find("is no combination of tags") !=
        std::string::npos);
}

TEST_CASE("parameters that name each other do not grow without end") {
  CHECK(refusal(step_with("<parameter name='a'>$b</parameter><parameter name='b'>$a</parameter>", "$a")).find("error: ") !=
        std::string::npos);
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "$t";
  const std::string bomb = "<parameter name='n'>1,2</parameter><parameter name='t'>" + std::string(100, 'x') + "$n</parameter>";
  CHECK(refusal(step_with(bomb, many)).find("more than 100000 bytes") != std::string::npos);
}

TEST_CASE("a name of several lines stays one key") {
  const std::string text = step_with("<parameter name='a&#10;command: x'>1,2</parameter>", "true");
  const JubeTranslation result =
      translate_jube({"x.xml", text, "study", "study.yaml", {}, std::nullopt}, [](const std::string&) { return std::nullopt; });
  CHECK(result.text.find("\"a\\ncommand: x\": [1, 2]") != std::string::npos);
  REQUIRE(result.problem);
  CHECK(result.problem->find("cannot be the name of an axis") != std::string::npos);
}

TEST_CASE("a file that includes itself ends") {
  const std::string text =
      "<jube><benchmark name='b'><step name='s'><do>true</do>"
      "<include from='x.xml' path='benchmark/step'/><include from='x.xml' path='benchmark/step'/></step></benchmark></jube>";
  const JubeTranslation result = translate_jube({"x.xml", text, "study", "study.yaml", {}, std::nullopt},
                                                [&](const std::string&) { return std::optional(text); });
  CHECK(result.text.size() < 1'000'000);
}

TEST_CASE("what is no benchmark is refused") {
  CHECK(refusal("").find("error: ") != std::string::npos);
  CHECK(begins(refusal("hello"), "x.xml:1:1: error: this is no JUBE file"));
  CHECK(begins(refusal("<html><body/></html>"), "x.xml:1:1: error: the root is `html`"));
  CHECK(begins(refusal("<jube>\n  <benchmark>"), "x.xml:"));
  CHECK(begins(refusal("<jube/>"), "x.xml:1:1: error: there is no `benchmark`"));
  CHECK(begins(refusal("<jube>\n  <benchmark name='b'/></jube>"), "x.xml:2:3: error: this benchmark has no `step`"));
  CHECK(refusal("<jube>\xff</jube>").find("not UTF-8") != std::string::npos);
  CHECK(refusal("<jube><benchmark><step name='a' depend='b'/><step name='b' depend='a'/></benchmark></jube>")
            .find("in a circle") != std::string::npos);
}

TEST_CASE("tags combine as JUBE's do") {
  const YamlSource source("x", "x");
  const std::set<std::string> tags = {"a", "b"};
  const SourceLocation place{&source, 0};
  CHECK(tags_hold("a", tags, place));
  CHECK_FALSE(tags_hold("!a", tags, place));
  CHECK(tags_hold("c|a", tags, place));
  CHECK_FALSE(tags_hold("c+a", tags, place));
  CHECK(tags_hold("!c+(a|c)", tags, place));
  CHECK_FALSE(tags_hold("a^b", tags, place));
  CHECK_THROWS_AS(tags_hold("a,b", tags, place), InputError);
  CHECK_THROWS_AS(tags_hold("a+", tags, place), InputError);
}

TEST_CASE("names in a text of JUBE") {
  const std::vector<JubePiece> pieces = jube_pieces("$$x ${n}a $n_1 $(ls) ${a b} $");
  REQUIRE(pieces.size() == 5);
  CHECK(pieces[0].text == "$x ");
  CHECK(pieces[1].text == "n");
  CHECK(pieces[3].text == "n_1");
  CHECK(pieces[4].text == " $(ls) ${a b} $");
}
