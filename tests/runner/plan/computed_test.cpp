// Derived values, requirements and conditions as expressions, from a file to a plan.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "plan/plan.hpp"
#include "spec/read_experiment.hpp"

using namespace hpcbench;

namespace {

using Lines = std::vector<std::string>;

Plan planned(const std::string& text, const ReadOptions& options = {}) {
  return make_plan(parse_experiment("experiment: e\n" + text, "e.yaml", options));
}

/// `tp=2: dp=2, x=1`, the axes that vary and all derived values.
Lines computed_lines(const Plan& plan) {
  Lines lines;
  for (const Configuration& each : plan.configurations) {
    Bindings axes = plan.bindings(each);
    std::erase_if(axes, [&](const auto& axis) {
      return std::find(plan.varied.begin(), plan.varied.end(), axis.first) == plan.varied.end();
    });
    lines.push_back(describe(axes) + ": " + describe(plan.derived_bindings(each)));
  }
  return lines;
}

Lines ids(const Plan& plan) {
  Lines all;
  for (const Configuration& each : plan.configurations) all.push_back(each.id);
  return all;
}

}  // namespace

TEST_CASE("derived values are computed in order of need, after overrides") {
  const Plan plan = planned(R"(
command: [p, "{{micro}}", "{{dp}}", "{{share}}"]
matrix: {gpus_per_node: [4], tp: [1, 2]}
parameters: {global_batch: 64}
derive: {micro: global_batch // dp, dp: gpus // tp, share: 1 / dp, alike: gpus}
overrides:
  - {when: tp == 2, parameters: {global_batch: 100}}
)");
  CHECK(plan.derived == Lines{"dp", "micro", "share", "alike"});
  CHECK(plan.varied_derived == Lines{"dp", "micro", "share"});
  CHECK(computed_lines(plan) == Lines{"tp=1: dp=4, micro=16, share=0.25, alike=4", "tp=2: dp=2, micro=50, share=0.5, alike=4"});
  CHECK(plan.configurations[1].work->parameters.front().second.text() == "100");
}

TEST_CASE("what is excluded divides by nothing, and is counted") {
  const Plan plan = planned(R"(
command: [p, "{{dp}}"]
matrix: {gpus_per_node: [4], tp: [0, 1, 2, 3, 8]}
derive: {dp: gpus // tp}
exclude: [{tp: 0}, gpus % tp != 0]
require: [dp * tp == gpus, dp >= 1]
)");
  CHECK(computed_lines(plan) == Lines{"tp=1: dp=4", "tp=2: dp=2"});
  CHECK(plan.excluded == 3);
}

TEST_CASE("an included point is never excluded, and has to hold") {
  const std::string text = "command: [p, \"{{tp}}\"]\nmatrix: {tp: [1, 2]}\nexclude: [tp == 2]\ninclude: [{tp: 9}]\n";
  CHECK(computed_lines(planned(text)).size() == 2);
  CHECK_THROWS_AS(planned(text + "require: [tp < 9]\n"), InputError);
}

TEST_CASE("a derived value is identity where a run is given it, by its value") {
  const std::string text = "matrix: {tp: [1, 2]}\ncommand: [p, \"{{tp}}\"";
  const Lines plain = ids(planned(text + "]\n"));
  CHECK(ids(planned(text + "]\nderive: {x: tp * 2}\nrequire: [x > 0]\n")) == plain);  // a label changes nothing
  const Lines given = ids(planned(text + ", \"{{x}}\"]\nderive: {x: tp * 2}\n"));
  CHECK(ids(planned(text + ", \"{{x}}\"]\nderive: {y: 2, x: tp + tp * (y - 1)}\n")) == given);
  const Lines other = ids(planned(text + ", \"{{x}}\"]\nderive: {x: 2}\n"));
  CHECK(other[0] == given[0]);  // 1 * 2
  CHECK(other[1] != given[1]);
  CHECK(ids(planned(text + "]\nsetup: [\"echo {{x}}\"]\nderive: {x: tp}\n")) !=
        ids(planned(text + "]\nsetup: [\"echo {{x}}\"]\nderive: {x: 2}\n")));
}

TEST_CASE("a derived setting of the built-in trainer is one of its settings") {
  const std::string text = "trainer: mnist_rnn\nmatrix: {gpus_per_node: [1, 2], strategy: [ddp]}\n";
  const Lines plain = ids(planned(text));
  CHECK(ids(planned(text + "derive: {label: gpus * 8}\n")) == plain);
  const Lines given = ids(planned(text + "derive: {batch_size: 64 // gpus}\n"));
  CHECK(given[0] != plain[0]);
  CHECK(given[1] != given[0]);
}

TEST_CASE("`when` as an expression chooses the points of an override") {
  const Plan plan = planned(R"(
command: [p, "{{size}}", "{{tp}}"]
matrix: {nodes: [1, 2], tp: [1, 2, 4]}
overrides:
  - {when: nodes * tp >= 4, parameters: {size: large}}
  - {when: nodes * tp < 4, parameters: {size: small}}
)");
  std::string sizes;
  for (const Configuration& each : plan.configurations) sizes += each.work->parameters.front().second.text() + ' ';
  CHECK(sizes == "small small large small large large ");
}

TEST_CASE("a condition of the file that a profile leaves without a point is a note") {
  const std::string text = R"(
command: [p, "{{tp}}"]
matrix: {tp: [1, 2, 4]}
exclude: [tp == 4]
overrides: [{when: tp == 2, command: [q]}]
profiles: {small: {matrix: {tp: [1]}}}
)";
  const Plan plan = planned(text, {.profile = "small", .site = {}, .settings = {}});
  CHECK(plan.configurations.size() == 1);
  const std::string notes = plan.notes.at(0) + plan.notes.at(1);
  CHECK(notes.find("e.yaml:5:11: this exclude is true for no point that is there") != std::string::npos);
  CHECK(notes.find("e.yaml:6:20: this override is true for no point that is there") != std::string::npos);
}

TEST_CASE("braces around a computation are plain text, with a hint") {
  const Experiment experiment = parse_experiment(
      "experiment: e\ncommand: [p, \"{{gpus*2}}\", \"{{.ID}}\", \"{{tp}}\"]\nmatrix: {tp: [1, 2]}\n", "e.yaml", {});
  REQUIRE(experiment.notes.size() == 1);
  CHECK(experiment.notes[0].find("e.yaml:2:14: {{gpus*2}} is given to the program as it stands") == 0);
  CHECK(experiment.work.command[1] == "{{gpus*2}}");
}

TEST_CASE("an exclude as an expression tells the trainer's checks what is left") {
  const std::string text = "trainer: mnist_rnn\nmatrix: {strategy: [baseline, ddp], gpus_per_node: [1, 2]}\n";
  CHECK_THROWS_AS(planned(text), InputError);
  CHECK(planned(text + "exclude: [\"strategy == 'baseline' and gpus > 1\"]\n").configurations.size() == 3);
}

namespace {

std::string selected(const Plan& plan, const std::string& only) {
  try {
    std::string points;
    for (const std::string& line : computed_lines(select(plan, parse_selection(only, "--only"))))
      points += line.substr(0, line.find(':')) + "; ";
    return points;
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("--only takes pairs or an expression over axes, parameters and derived values") {
  const Plan plan = planned(R"(
command: [p, "{{tp}}", "{{system}}"]
matrix: {gpus_per_node: [1, 4], tp: [1, 2], system: [a100]}
parameters: {batch: 64}
derive: {dp: gpus // tp}
exclude: [tp > gpus]
)");
  CHECK(selected(plan, "tp=2") == "gpus_per_node=4, tp=2; ");
  CHECK(selected(plan, "tp =1, gpus_per_node=1|4") == "gpus_per_node=1, tp=1; gpus_per_node=4, tp=1; ");
  CHECK(selected(plan, "dp=2") == "gpus_per_node=4, tp=2; ");
  CHECK(selected(plan, "tp==2") == "gpus_per_node=4, tp=2; ");
  CHECK(selected(plan, "tp * gpus >= 4 and dp != 4") == "gpus_per_node=4, tp=2; ");
  CHECK(selected(plan, "batch // dp == 64 or system == 'x' ") == "gpus_per_node=1, tp=1; ");
  CHECK(selected(plan, "dp == 3") == "--only:1:1: error: this is true for no configuration\n  | dp == 3\n  | ^");
  CHECK(selected(plan, "tp == 3").find("--only:1:7: error: no configuration has tp=3") == 0);
  CHECK(selected(plan, "system == a100").find("= a text has quotes: 'a100'") != std::string::npos);
  CHECK(selected(plan, "sytem != 'x'")
            .find("--only:1:1: error: `sytem` is no axis, parameter or derived value (did you mean `system`?)") == 0);
  CHECK(selected(plan, "tp >").find("--only:1:5: error: the expression ends where a value is needed") == 0);
  CHECK(selected(plan, "dp=3") == "error: no configuration has dp=3");
  CHECK(selected(plan, "nope=3").find("error: `nope` is no axis") == 0);
}
