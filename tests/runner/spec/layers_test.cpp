// Defaults < site < experiment < profile < --set, where values came from, and what no longer applies under a profile.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "base/error.hpp"
#include "base/files.hpp"
#include "fakes/checks.hpp"
#include "fakes/temporary_folder.hpp"
#include "spec/read_experiment.hpp"

using namespace hpcbench;

namespace {

const char* const kLayered = R"yaml(experiment: layers
command: [prog, "{{hidden}}", "{{lr}}"]
matrix:
  hidden: [1, 2, 4]
  nodes: [1, 2]
parameters: {lr: 1e-5, data: big}
exclude:
  - {hidden: 4, nodes: 2}
  - {hidden: [1, 2], nodes: 1}
include:
  - {hidden: 8, nodes: 2}
  - {hidden: 16, nodes: 1}
overrides:
  - {when: {nodes: 2}, launch: once}
repeats: 8
resources: {time: 1h, cpus_per_task: 4}
baseline: {hidden: 4}
report: {metric: wall_s, time_unit: min}
profiles:
  laptop:
    matrix: {nodes: [1]}
    parameters: {data: small}
    resources: {time: 10m}
    repeats: 3
  small: {matrix: {hidden: [1, 2]}}
  trained: {trainer: mnist_rnn}
)yaml";

Experiment layered(ReadOptions options) { return parse_experiment(kLayered, "l.yaml", options); }

std::string failure_of(const std::string& text, const ReadOptions& options) {
  return error_of<InputError>([&] { parse_experiment(text, "l.yaml", options); });
}

}  // namespace

TEST_CASE("a profile merges maps by key and replaces all else") {
  const Experiment laptop = layered({.profile = "laptop", .site = {}, .settings = {}});
  REQUIRE(laptop.matrix.size() == 2);
  CHECK(laptop.matrix[0].values.size() == 3);
  CHECK(laptop.matrix[1].values == std::vector{Value::from_integer(1)});
  CHECK(describe(laptop.work.parameters) == "lr=1e-5, data=small");
  CHECK(laptop.work.resources.time_s == 600.0);
  CHECK(laptop.work.resources.cpus_per_task == 4);
  CHECK(laptop.repeats == 3);
  CHECK(laptop.report.metric == "wall_s");
}

TEST_CASE("a profile takes a parameter back") {
  const std::string text = std::string(kLayered) + "  without: {parameters: {lr: ~}, command: [prog]}\n";
  const Experiment without = parse_experiment(text, "l.yaml", {.profile = "without", .site = {}, .settings = {}});
  CHECK(describe(without.work.parameters) == "data=big");
  CHECK(describe(parse_experiment(text, "l.yaml", {}).work.parameters) == "lr=1e-5, data=big");
}

TEST_CASE("a site names the profile of files that have it; --profile goes above") {
  const TemporaryFolder folder;
  const std::string site = (folder.path() / "cluster.yaml").string();
  write_file(site, "profile: laptop\n", Durability::none);
  const Experiment chosen = layered({.profile = {}, .site = site, .settings = {}});
  CHECK(chosen.profile == "laptop");
  CHECK(chosen.repeats == 3);
  CHECK(chosen.notes.back().find("as the site cluster says") != std::string::npos);
  CHECK(layered({.profile = "small", .site = site, .settings = {}}).repeats == 8);
  write_file(site, "profile: full\n", Durability::none);
  const Experiment plain = layered({.profile = {}, .site = site, .settings = {}});
  CHECK(plain.profile.empty());
  CHECK(std::any_of(plain.notes.begin(), plain.notes.end(),
                    [](const std::string& note) { return note.find("which l.yaml does not have") != std::string::npos; }));
}

TEST_CASE("settings go above the profile, by path") {
  const Experiment set = layered({.profile = "laptop",
                                  .site = {},
                                  .settings = {"repeats=4", "matrix.hidden=[4]", "resources.mem=1G", "parameters.data=\"3\"",
                                               "baseline={hidden: 4}", "limits.gpu_hours=2"}});
  CHECK(set.repeats == 4);
  CHECK(set.matrix[0].values == std::vector{Value::from_integer(4)});
  CHECK(set.work.resources.mem == "1G");
  CHECK(set.work.resources.time_s == 600.0);
  CHECK(find_binding(set.work.parameters, "data")->is_text());
  CHECK(set.limits.cost.gpu_hours == 2.0);
  CHECK(set.baseline == Condition{{"hidden", {Value::from_integer(4)}}});
  // Only files have a byte order mark: here it makes the key another one.
  CHECK(failure_of(kLayered, {.profile = {},
                              .site = {},
                              .settings = {"\xEF\xBB\xBF"
                                           "repeats=4"}})
            .find("--set:1:1: error: unknown key") == 0);
  // A value may hold `=`.
  CHECK(layered({.profile = {}, .site = {}, .settings = {"description=a=b"}}).description == "a=b");
}

TEST_CASE("what a profile leaves no points for is dropped with a note") {
  const Experiment laptop = layered({.profile = "laptop", .site = {}, .settings = {}});
  // Without nodes = 2: the first exclude matches nothing, the point on 2 nodes and the override are outside.
  REQUIRE(laptop.exclude.size() == 1);
  CHECK(laptop.exclude[0][1].second == std::vector{Value::from_integer(1)});
  REQUIRE(laptop.include.size() == 1);
  CHECK(describe(laptop.include[0]) == "hidden=16, nodes=1");
  CHECK(laptop.overrides.empty());
  CHECK(laptop.baseline.size() == 1);
  CHECK(laptop.notes ==
        std::vector<std::string>{"profile `laptop`: 1 of 2 `include` entries do not apply: their points are not there",
                                 "profile `laptop`: 1 of 2 `exclude` entries do not apply: their points are not there",
                                 "profile `laptop`: 1 of 1 `overrides` entries do not apply: their points are not there"});
  const Experiment small = layered({.profile = "small", .site = {}, .settings = {}});
  CHECK(small.include.empty());
  CHECK(small.baseline.empty());
  CHECK(std::find(small.notes.begin(), small.notes.end(),
                  "profile `small`: no point matches `baseline`: there are no speedups") != small.notes.end());
}

TEST_CASE("what a profile itself says is checked as strictly as the file") {
  const std::string message = failure_of(std::string(kLayered) + "  wrong: {exclude: [{hidden: 3}]}\n",
                                         {.profile = "wrong", .site = {}, .settings = {}});
  CHECK(message.find("l.yaml:27:30: error: `hidden` has no value `3`") == 0);
  CHECK(failure_of(kLayered, {.profile = {}, .site = {}, .settings = {"baseline.hidden=3"}})
            .find("--set:1:17: error: `hidden` has no value `3`") == 0);
}

TEST_CASE("a trainer in a profile takes the place of the command") {
  const Experiment trained = layered({.profile = "trained", .site = {}, .settings = {}});
  CHECK(trained.is_trainer());
  CHECK(trained.work.command.empty());
}

TEST_CASE("a site lies below the experiment") {
  const TemporaryFolder folder;
  const std::string path = folder / "cluster.yaml";
  std::ofstream(path) << "executor: slurm\npartition: gpu\naccount: a1\nqos: high\ngres_type: a100\ntemplate: my.mustache\n"
                         "reservation: r\nmodules: [cuda]\nsetup: [ulimit -l unlimited]\nextra: [--nice]\n"
                         "limits: {max_queued: 500, gpu_hours: 100}\n";
  const Experiment plain = layered({.profile = {}, .site = path, .settings = {}});
  CHECK(plain.executor == "slurm");
  CHECK(plain.site.name == "cluster");
  CHECK(plain.site.partition == "gpu");
  CHECK(plain.site.account == "a1");
  CHECK(plain.site.qos == "high");
  CHECK(plain.site.gres_type == "a100");
  CHECK(plain.site.template_path == "my.mustache");
  CHECK(plain.site.reservation == "r");
  CHECK(plain.site.extra == std::vector<std::string>{"--nice"});
  CHECK(plain.site.max_queued == 500);
  CHECK(plain.work.modules == std::vector<std::string>{"cuda"});
  CHECK(plain.work.setup == std::vector<std::string>{"ulimit -l unlimited"});
  CHECK(plain.limits.cost.gpu_hours == 100.0);
  CHECK(plain.origins.at("executor") == path + ":1:11");

  const Experiment set =
      layered({.profile = {}, .site = path, .settings = {"executor=local", "modules=[gcc]", "limits.gpu_hours=1"}});
  CHECK(set.executor == "local");
  CHECK(set.work.modules == std::vector<std::string>{"gcc"});
  CHECK(set.limits.cost.gpu_hours == 1.0);
  CHECK(set.origins.at("executor") == "--set");
}

TEST_CASE("the default site is that of the user's configuration") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "hpcbench");
  std::ofstream(folder / "hpcbench/site.yaml") << "name: home\npartition: short\n";
  std::ofstream(folder / "l.yaml") << kLayered;
  const char* const before = std::getenv("XDG_CONFIG_HOME");
  const std::string saved = before == nullptr ? "" : before;
  ::setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1);
  const Experiment read = read_experiment(folder / "l.yaml", {});
  before == nullptr ? ::unsetenv("XDG_CONFIG_HOME") : ::setenv("XDG_CONFIG_HOME", saved.c_str(), 1);
  CHECK(read.site.name == "home");
  CHECK(read.site.partition == "short");
  CHECK(read.executor == "local");
}

TEST_CASE("a site that is nowhere is named with what to do") {
  const std::string message = failure_of(kLayered, {.profile = {}, .site = "no_such_site", .settings = {}});
  CHECK(message.find("error: --site: there is no site `no_such_site`") == 0);
  CHECK(failure_of(kLayered, {.profile = {}, .site = "./no/site.yaml", .settings = {}}) ==
        "error: --site: there is no file `./no/site.yaml`");
}

TEST_CASE("every value knows where it came from") {
  const Experiment laptop = layered({.profile = "laptop", .site = {}, .settings = {"report.metric=train_s"}});
  CHECK(laptop.origins.at("experiment") == "l.yaml:1:13");
  CHECK(laptop.origins.at("repeats") == "l.yaml:24:14");
  CHECK(laptop.origins.at("resources.time") == "l.yaml:23:23");
  CHECK(laptop.origins.at("resources.cpus_per_task") == "l.yaml:16:38");
  CHECK(laptop.origins.at("matrix.nodes") == "l.yaml:21:21");
  CHECK(laptop.origins.at("report.metric") == "--set");
  CHECK(laptop.origins.at("report.time_unit") == "l.yaml:18:37");
  CHECK_FALSE(laptop.origins.contains("warmups"));
  CHECK_FALSE(laptop.origins.contains("profiles"));
}

TEST_CASE("the example of the documentation and the site that comes along are accepted") {
  const std::string root = HPCBENCH_SOURCE_DIR;
  const std::string page = read_file(root + "/docs/experiment-file.md");
  const std::size_t begin = page.find("```yaml\n") + 8;
  const std::string example = page.substr(begin, page.find("```", begin) - begin);
  const Experiment read =
      parse_experiment(example, "docs.yaml", {.profile = "laptop", .site = root + "/sites/local.yaml", .settings = {}});
  CHECK(read.name == "mnist_scaling");
  CHECK(read.site.name == "local");
}

TEST_CASE("an empty list of a profile removes optional lists inside of maps, too") {
  const std::string text =
      "experiment: e\ncommand: [a, '{{k}}']\nmatrix: {k: [1]}\nsuccess: {exit_code: 0, require: [wall_s < 3]}\n"
      "report: {metric: wall_s, references: [{value: 3, low: -5 %}]}\nprepare: {build: {command: [make], inputs: [src/*.c]}}\n"
      "profiles: {bare: {success: {require: []}, report: {references: []}, prepare: {build: {inputs: []}}}}\n";
  const Experiment bare = parse_experiment(text, "e.yaml", {.profile = "bare", .site = {}, .settings = {}});
  CHECK(bare.work.success.require.empty());
  CHECK(bare.report.references.empty());
  CHECK(bare.preparations.at(0).inputs.empty());
}

TEST_CASE("what is laid over a file empties lists and takes keys away") {
  const std::string text = std::string(kLayered) +
                           "  bare:\n    parameters: {data: ~}\n    exclude: []\n    include: []\n    overrides: []\n"
                           "    modules: []\n    setup: []\n    baseline: null\n    resources: {time: ~}\n";
  const TemporaryFolder folder;
  const std::string site = folder / "cluster.yaml";
  std::ofstream(site) << "executor: slurm\npartition: ~\nmodules: [cuda]\nsetup: [ulimit -l unlimited]\nextra: []\n";
  const Experiment bare = parse_experiment(text, "l.yaml", {.profile = "bare", .site = site, .settings = {}});
  CHECK(describe(bare.work.parameters) == "lr=1e-5");
  CHECK(bare.exclude.empty());
  CHECK(bare.include.empty());
  CHECK(bare.overrides.empty());
  CHECK(bare.work.modules.empty());
  CHECK(bare.work.setup.empty());
  CHECK(bare.baseline.empty());
  CHECK_FALSE(bare.work.resources.time_s);
  CHECK(bare.work.resources.cpus_per_task == 4);
  CHECK_FALSE(bare.site.partition);
  const Experiment set = parse_experiment(
      text, "l.yaml", {.profile = {}, .site = site, .settings = {"parameters.data=~", "include=[]", "modules=[]"}});
  CHECK(describe(set.work.parameters) == "lr=1e-5");
  CHECK(set.include.empty());
  CHECK(set.work.modules.empty());
  CHECK(set.work.setup.size() == 1);
}

TEST_CASE("what is not there cannot be taken away, and a blank is no value") {
  const auto profile = [](const std::string& body) {
    return failure_of(std::string(kLayered) + "  p: " + body + "\n", {.profile = {}, .site = {}, .settings = {}});
  };
  CHECK(profile("{parameters: {dta: ~}}")
            .find("l.yaml:27:20: error: `parameters.dta` is not there to be taken away (did you mean `data`?)") == 0);
  CHECK(profile("{modules: ~}").find("write [] for none") != std::string::npos);
  CHECK(profile("{parameters: {data: }}").find("error: ") != std::string::npos);
  CHECK(profile("{matrix: {hidden: []}}").find("error: ") != std::string::npos);
  CHECK(failure_of(kLayered, {.profile = {}, .site = {}, .settings = {"parameters.dta=~"}}).find("--set:1:12: error: ") == 0);
  CHECK(failure_of(kLayered, {.profile = {}, .site = {}, .settings = {"repeats="}}).find("--set:1:1: error: ") == 0);
}
