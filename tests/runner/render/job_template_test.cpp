#include "render/job_template.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "rendering.hpp"

using namespace hpcbench;

TEST_CASE("a template quotes for the shell, but where its author asks for the raw value") {
  ShellTemplate job("a={{x}} b={{{x}}} c={{&x}}{{! nothing }}\n{{#list}}\n- {{.}}\n{{/list}}\n{{^off}}no{{/off}}\n", "t");
  TemplateValues values;
  values.texts = {{"x", "$(touch /tmp/x) 'q' {{list}}"}};
  values.lists = {{"list", {"one", "two words", ""}}};
  values.flags = {{"off", false}};
  CHECK(job.render(values) ==
        "a='$(touch /tmp/x) '\\''q'\\'' {{list}}' b=$(touch /tmp/x) 'q' {{list}} c=$(touch /tmp/x) 'q' {{list}}\n"
        "- one\n- 'two words'\n- ''\nno\n");
}

TEST_CASE("a template's mistakes are named with their line") {
  const auto render = [](const std::string& text) {
    TemplateValues values;
    values.texts = {{"workdir", ""}};
    values.lists = {{"argv", {"x"}}};
    ShellTemplate(text, "my.mustache").render(values);
  };
  CHECK_THROWS_WITH_AS(render("a\n{{workdir}}\n{{wrkdir}}\n"),
                       "error: my.mustache:3: nothing defines `{{wrkdir}}` (did you mean `workdir`?)", InputError);
  CHECK_THROWS_WITH_AS(render("{{{argv}}}"), "error: my.mustache:1: `argv` is no text: write {{#argv}} ... {{/argv}}",
                       InputError);
  CHECK_THROWS_AS(render("{{#nothing}}{{/nothing}}"), InputError);
  CHECK_THROWS_AS(render("{{{nothing}}}"), InputError);
  CHECK_THROWS_AS(render("\n{{> other}}"), InputError);
  CHECK_THROWS_AS(render("{{#workdir}}"), InputError);
  CHECK_THROWS_AS(render("{{workdir"), InputError);
}

TEST_CASE("a template of the user's own is found by its path, others by name") {
  const TemporaryFolder folder;
  write_file(folder / "own.mustache", "x", Durability::none);
  CHECK(load_template(folder / "own.mustache") == "x");
  CHECK(load_template("job.sh.mustache") == read_file(HPCBENCH_SOURCE_DIR "/templates/job.sh.mustache"));
  CHECK_THROWS_AS(load_template("no-such.mustache"), UnavailableError);
}
