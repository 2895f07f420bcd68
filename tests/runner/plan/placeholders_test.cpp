#include "plan/placeholders.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "base/error.hpp"
#include "fakes/example_experiment.hpp"

using namespace hpcbench;

TEST_CASE("placeholders are filled in place") {
  const Bindings bindings = plain_bindings({{"a", "1e-5"}, {"b", "{{a}}"}, {"c", ""}});
  CHECK(fill_placeholders("--x={{a}}", bindings) == "--x=1e-5");
  CHECK(fill_placeholders("{{ a }}{{{b}}}{{c}}", bindings) == "1e-5{{a}}");
  CHECK(fill_placeholders("{\"n\":{{a}}}", bindings) == "{\"n\":1e-5}");
  CHECK(fill_placeholders("{{{a}}", bindings) == "{1e-5");
  CHECK(fill_placeholders("{{{{a}}}}", bindings) == "{1e-5}");
  CHECK(fill_placeholders("{{{a}}}{{{a}}}", bindings) == "1e-51e-5");
  CHECK(fill_placeholders("{{a}}}{{{a}}", bindings) == "1e-5}{1e-5");
  CHECK(placeholders_in("{{b}} {{a}} {{b}}") == std::vector<std::string>{"b", "a"});
}

TEST_CASE("braces around no name are text") {
  for (const char* text : {"{}", "{{}}", "{{ }}", "{{a b}}", "{{.ID}}", "{{", "}}", "{{a", "${{x:y}}", ""}) {
    CAPTURE(text);
    CHECK(fill_placeholders(text, {}) == text);
  }
}

TEST_CASE("an undefined placeholder is an error with a suggestion") {
  CHECK_THROWS_WITH_AS(fill_placeholders("{{epoch}}", plain_bindings({{"epochs", "1"}})),
                       "error: nothing defines `{{epoch}}` (did you mean `epochs`?)", InputError);
}

TEST_CASE("a value is never read as a template") {
  CHECK(rc::check("the value arrives as it is", [](const std::string& before, const std::string& value) {
    RC_PRE(before.find('{') == std::string::npos);
    const Bindings bindings = {{"a", Value::from_text(value)}};
    RC_ASSERT(fill_placeholders(before + "{{a}}", bindings) == before + value);
  }));
}

TEST_CASE("a list becomes several arguments, or none") {
  const Bindings bindings = {{"none", Value::from_list({})},
                             {"two", Value::from_list({"--a", "b c"})},
                             {"blank", Value::from_list({""})},
                             {"one", Value::from_plain("8")}};
  using Arguments = std::vector<std::string>;
  CHECK(fill_arguments({"prog", "{{*none}}", "{{*two}}", "{{*one}}", "{{*blank}}"}, bindings) ==
        Arguments{"prog", "--a", "b c", "8", ""});
  CHECK(fill_shell_text("prog {{*none}} {{*two}} {{*one}} {{*blank}}", bindings) == "prog  --a 'b c' 8 ''");
  SUBCASE("of a name that nothing has it is plain text") {
    CHECK(fill_arguments({"{{*other}}", "x{{*other}}"}, bindings) == Arguments{"{{*other}}", "x{{*other}}"});
    CHECK(fill_shell_text("{{*other}}{{one}}", bindings) == "{{*other}}8");
  }
  SUBCASE("everywhere else it is its words as a shell reads them") {
    CHECK(bindings[1].second.text() == "--a 'b c'");
    CHECK(bindings[1].second == Value::from_text("--a 'b c'"));
    CHECK(bindings[0].second.text().empty());
    CHECK(bindings[2].second != bindings[0].second);
  }
}
