// Instances of preparations: how many there are, who needs them, and what of them is identity.
#include "plan/prepared.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan.hpp"
#include "spec/read_experiment.hpp"

using namespace hpcbench;

namespace {

Plan plan_prepared(const std::string& text) { return make_plan(parse_experiment("experiment: e\n" + text, "e.yaml", {})); }

std::vector<std::string> ids_of(const Plan& plan) {
  std::vector<std::string> ids;
  for (const Configuration& each : plan.configurations) ids.push_back(each.id);
  return ids;
}

const std::string kBuilds = R"(
prepare:
  build: {command: [make, "OUT={{build.dir}}", "CC={{cc}}", "{{lib.dir}}", "{{width}}"], modules: ["{{cc}}/1"]}
  lib: {command: [cp, lib, "{{lib.dir}}"]}
parameters: {unused: 1}
derive: {width: bits // 8}
matrix: {cc: [gcc, clang], bits: [32, 33, 64], n: [1, 2]}
command: ["{{build.dir}}/prog", "{{n}}"]
)";

}  // namespace

TEST_CASE("the names of a preparation say how many instances there are, and who needs them") {
  const Plan plan = plan_prepared(kBuilds);
  REQUIRE(plan.configurations.size() == 12);
  REQUIRE(plan.prepared.size() == 5);  // cc x width (4, 4, 8), and one lib
  CHECK(plan.prepared[0].name == "lib");
  CHECK(plan.prepared[1].needs == std::vector<std::size_t>{0});
  CHECK(instances_needed(plan) == std::vector<std::size_t>{0, 1, 2, 3, 4});
  CHECK(plan.configurations[0].prepared == plan.configurations[3].prepared);  // 32 and 33 bits are 4 bytes
  CHECK(plan.configurations[0].prepared != plan.configurations[4].prepared);
  const Plan gcc = select(plan, parse_only("cc=gcc"));
  CHECK(instances_needed(gcc).size() == 3);
}

TEST_CASE("a command alone is one instance, which all need, and no part of their identity") {
  const std::string study = "matrix: {cc: [gcc, clang]}\ncommand: [run, '{{cc}}']\n";
  const Plan plan = plan_prepared(study + "prepare: [make, data]\n");
  REQUIRE(plan.prepared.size() == 1);
  CHECK(plan.configurations[0].prepared == std::vector<std::size_t>{0});
  CHECK(plan.configurations[1].prepared == std::vector<std::size_t>{0});
  CHECK(ids_of(plan) == ids_of(plan_prepared(study)));
  CHECK(plan_prepared(study + "prepare: [make, all]\n").prepared[0].id != plan.prepared[0].id);
}

TEST_CASE("a list puts in several arguments, and folders are filled in when they are known") {
  const Experiment experiment = parse_experiment(
      "experiment: e\nprepare: {b: {command: [cc, '{{*flags}}', -o, '{{b.dir}}/x']}}\nmatrix: {flags: [[], [-O2, -g]]}\n"
      "command: ['{{b.dir}}/x']\n",
      "e.yaml", {});
  const Plan plan = make_plan(experiment);
  REQUIRE(plan.prepared.size() == 2);
  Bindings bindings = plan.prepared[1].bindings;
  bindings.emplace_back("b.dir", Value::from_text("/r/b"));
  CHECK(fill_preparation(experiment.preparations[0], bindings).command ==
        std::vector<std::string>{"cc", "-O2", "-g", "-o", "/r/b/x"});
}

TEST_CASE("identity holds the filled definition of what a run is given, its inputs not") {
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = kBuilds;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return ids_of(plan_prepared(text.replace(at, from.size(), to)));
  };
  const std::vector<std::string> before = ids_of(plan_prepared(kBuilds));
  CHECK(changed("lib, \"{{lib.dir}}\"]", "lib, \"{{lib.dir}}\"], inputs: [lib]") == before);
  CHECK(changed("unused: 1", "unused: 1, other: 2") != before);  // parameters always were
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"cp, lib", "cp, -p, lib"}, {"}}/1\"]", "}}/2\"]"}, {"\"CC=", "\"CXX="}, {"bits // 8", "bits // 4"}}) {
    CAPTURE(from);
    const std::vector<std::string> after = changed(from, to);
    CHECK(std::none_of(after.begin(), after.end(),
                       [&](const std::string& id) { return std::find(before.begin(), before.end(), id) != before.end(); }));
  }
}

TEST_CASE("a preparation that nothing needs is not made, and a note says so") {
  const Plan plan = plan_prepared("prepare: {b: {command: [make]}}\nmatrix: {n: [1]}\ncommand: [prog, '{{n}}']\n");
  CHECK(plan.prepared.empty());
  REQUIRE(!plan.notes.empty());
  CHECK(plan.notes.back().starts_with("e.yaml:2:11: nothing needs the preparation `b`"));
}

TEST_CASE("a profile may change a part of a preparation") {
  const std::string text =
      "experiment: e\nprepare: {b: {command: [make, 'OUT={{b.dir}}'], environment: {LEVEL: '1'}}}\nmatrix: {n: [1, 2]}\n"
      "command: ['{{b.dir}}/x', '{{n}}']\nprofiles: {fast: {prepare: {b: {environment: {LEVEL: '3'}}}}}\n";
  ReadOptions fast;
  fast.profile = "fast";
  const Plan plain = make_plan(parse_experiment(text, "e.yaml", {}));
  const Plan changed = make_plan(parse_experiment(text, "e.yaml", fast));
  REQUIRE(changed.prepared.size() == 1);
  CHECK(changed.prepared[0].id != plain.prepared[0].id);
  CHECK(ids_of(changed) != ids_of(plain));
}
