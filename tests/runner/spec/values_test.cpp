// Valid files and the exact values that they stand for.
#include <doctest/doctest.h>

#include "base/error.hpp"
#include "spec/read_experiment.hpp"

using namespace hpcbench;

namespace {

Experiment parsed(const std::string& text) { return parse_experiment(text, "x.yaml", {}); }

std::vector<std::string> texts_of(const std::vector<Value>& values) {
  std::vector<std::string> texts;
  for (const Value& value : values) texts.push_back(value.text());
  return texts;
}

using Texts = std::vector<std::string>;

const char* const kFull = R"yaml(
experiment: full.study-1
description: "every key: once"
command: [python, train.py, "--strategy={{strategy}}", '--lr={{ lr }}', "{{data}}", "", -v]
launch: node
matrix:
  strategy: [baseline, ddp, fsdp]
  nodes: [1, 2]
zip:
  - precision: [fp32, bf16]
    lr: [5e-5, 0.00003]
exclude:
  - {strategy: [baseline, fsdp], nodes: 2}
include:
  - {strategy: ddp, nodes: 4, precision: bf16, lr: 1E-5}
parameters: {data: data/squad2, batch_size: 8, quoted: "8", yes: yes, flag: true, octal: 010}
overrides:
  - when: {strategy: baseline}
    command: [python, train_hf.py, "{{extra}}"]
    launch: once
    parameters: {extra: "{{not read}}"}
    resources: {time: "04:00:00", cpus_per_task: 2, mem: 1G, exclusive: true}
    setup: [module load hf]
    metrics: [{name: loss, file: out.log, pattern: 'loss (\d+)'}]
    success: {exit_code: 3, pattern: done}
  - {when: {strategy: ddp, nodes: [2, 4]}, resources: {time: 90, gres: "gpu:2", constraint: a100, extra: [--nice=5]}}
repeats: 12
warmups: 1
seed: {policy: fixed, value: 7}
executor: slurm
order: sequential
resources: {time: 1-12:00:00, cpus_per_task: 8, mem: 32G, gres: "gpu:a100:1", constraint: ib, exclusive: true, extra: [--mail-type=END, --nice]}
modules: [gcc/12, cuda]
setup:
  - module load cuda
  - |
    cd {{run_dir}}
    echo {{seed}}
prepare: [make, data]
container: image.sif
launcher: mpirun
workdir: work/{{strategy}}
metrics:
  - {name: epoch_s, file: "*.log", pattern: 'Time: +([0-9.]+)', unit: s, series: epoch}
  - {name: total, file: out.txt, pattern: '(?P<total>[0-9]+)'}
success: {pattern: "Training finished"}
monitor: 10s
retries: {lost: 0, node_failure: 5}
baseline: {strategy: baseline}
report:
  metric: epoch_s
  time_unit: min
  confidence: 0.9
  paired: true
  scaling: weak
  columns: [strategy, speedup]
  group_by: [precision]
  where: {strategy: [baseline, ddp], gpus_per_node: 1}
  sort: [nodes]
import: ["old/*.log"]
limits: {configurations: 100, gpu_hours: 12.5}
profiles:
  laptop: {matrix: {nodes: [1]}}
  nothing:
)yaml";

}  // namespace

TEST_CASE("every key of a file reaches the experiment") {
  const Experiment full = parsed(kFull);
  CHECK(full.name == "full.study-1");
  CHECK(full.description == "every key: once");
  CHECK(full.path == "x.yaml");
  CHECK_FALSE(full.is_trainer());
  CHECK(full.work.command == Texts{"python", "train.py", "--strategy={{strategy}}", "--lr={{ lr }}", "{{data}}", "", "-v"});
  CHECK(full.work.launch == Launch::node);
  CHECK(full.repeats == 12);
  CHECK(full.warmups == 1);
  CHECK_FALSE(full.seed_per_repeat);
  CHECK(full.seed == 7);
  CHECK(full.executor == "slurm");
  CHECK(full.order == Order::sequential);
  CHECK(full.launcher == "mpirun");
  REQUIRE(full.preparations.size() == 1);
  CHECK(full.preparations[0].command == Texts{"make", "data"});
  CHECK(full.preparations[0].for_all);
  CHECK(full.preparations[0].modules.empty());
  CHECK(full.workdir == "work/{{strategy}}");
  CHECK(full.monitor_s == 10.0);
  CHECK(full.retries.lost == 0);
  CHECK(full.retries.node_failure == 5);
  CHECK(full.retries.preempted == 2);
  REQUIRE(full.imports.size() == 1);
  CHECK(full.imports[0].files == Texts{"old/*.log"});
  CHECK(full.imports[0].each);
  CHECK(full.limits.configurations == 100);
  CHECK(full.limits.cost.gpu_hours == 12.5);
  CHECK(full.notes.empty());
}

TEST_CASE("axes, excludes and included points") {
  const Experiment full = parsed(kFull);
  REQUIRE(full.matrix.size() == 2);
  CHECK(full.matrix[0].name == "strategy");
  CHECK(texts_of(full.matrix[0].values) == Texts{"baseline", "ddp", "fsdp"});
  CHECK(texts_of(full.matrix[1].values) == Texts{"1", "2"});
  REQUIRE(full.zip.size() == 1);
  REQUIRE(full.zip[0].size() == 2);
  CHECK(full.zip[0][1].name == "lr");
  CHECK(texts_of(full.zip[0][1].values) == Texts{"5e-5", "0.00003"});
  CHECK(full.zip[0][1].values[1] == Value::from_plain("3e-5"));
  CHECK(full.axis_names() == Texts{"strategy", "nodes", "precision", "lr", "gpus_per_node"});
  REQUIRE(full.exclude.size() == 1);
  REQUIRE(full.exclude[0].size() == 2);
  CHECK(full.exclude[0][0].first == "strategy");
  CHECK(texts_of(full.exclude[0][0].second) == Texts{"baseline", "fsdp"});
  CHECK(full.exclude[0][1].second == std::vector{Value::from_integer(2)});
  REQUIRE(full.include.size() == 1);
  CHECK(describe(full.include[0]) == "strategy=ddp, nodes=4, precision=bf16, lr=1E-5");
  CHECK(full.baseline == Condition{{"strategy", {Value::from_text("baseline")}}});
}

TEST_CASE("parameters keep their kinds and spellings") {
  const Bindings parameters = parsed(kFull).work.parameters;
  CHECK(describe(parameters) == "data=data/squad2, batch_size=8, quoted=8, yes=yes, flag=true, octal=010");
  CHECK(find_binding(parameters, "batch_size")->kind() == Value::Kind::number);
  CHECK(find_binding(parameters, "quoted")->kind() == Value::Kind::text);
  CHECK(find_binding(parameters, "yes")->kind() == Value::Kind::text);
  CHECK(find_binding(parameters, "flag")->kind() == Value::Kind::boolean);
  CHECK(find_binding(parameters, "octal")->kind() == Value::Kind::text);
}

TEST_CASE("resources, set-up, metrics, success") {
  const Work work = parsed(kFull).work;
  CHECK(work.resources.time_s == 36 * 3600.0);
  CHECK(work.resources.cpus_per_task == 8);
  CHECK(work.resources.mem == "32G");
  CHECK(work.resources.gres == "gpu:a100:1");
  CHECK(work.resources.constraint == "ib");
  CHECK(work.resources.exclusive);
  CHECK(work.resources.extra == Texts{"--mail-type=END", "--nice"});
  CHECK(work.modules == Texts{"gcc/12", "cuda"});
  CHECK(work.setup == Texts{"module load cuda", "cd {{run_dir}}\necho {{seed}}\n"});
  CHECK(work.container->image == "image.sif");
  REQUIRE(work.metrics.size() == 2);
  CHECK(work.metrics[0].name == "epoch_s");
  CHECK(work.metrics[0].file == "*.log");
  CHECK(work.metrics[0].selector == "Time: +([0-9.]+)");
  CHECK(work.metrics[0].unit == "s");
  CHECK(work.metrics[0].series == "epoch");
  CHECK(work.metrics[1].unit.empty());
  CHECK_FALSE(work.metrics[1].series.has_value());
  CHECK(work.success.exit_code == 0);
  CHECK(work.success.pattern == "Training finished");
}

TEST_CASE("overrides hold what they say and nothing else") {
  const std::vector<Override> overrides = parsed(kFull).overrides;
  REQUIRE(overrides.size() == 2);
  const Override& first = overrides[0];
  CHECK(first.when == Condition{{"strategy", {Value::from_text("baseline")}}});
  CHECK(first.command == Texts{"python", "train_hf.py", "{{extra}}"});
  CHECK(first.launch == Launch::once);
  CHECK(describe(first.parameters) == "extra={{not read}}");
  CHECK(first.resources.time_s == 4 * 3600.0);
  CHECK(first.resources.cpus_per_task == 2);
  CHECK(first.resources.mem == "1G");
  CHECK(first.resources.exclusive == true);
  CHECK(first.setup == Texts{"module load hf"});
  REQUIRE(first.metrics.has_value());
  CHECK(first.metrics->front().name == "loss");
  CHECK(first.success.exit_code == 3);
  CHECK(first.success.pattern == "done");
  CHECK(first.place.file == "x.yaml");
  CHECK(first.place.line == 18);
  CHECK(first.place.column == 5);
  const Override& second = overrides[1];
  CHECK_FALSE(second.command.has_value());
  CHECK_FALSE(second.launch.has_value());
  CHECK_FALSE(second.resources.cpus_per_task.has_value());
  CHECK_FALSE(second.setup.has_value());
  CHECK(second.resources.time_s == 90 * 60.0);
  CHECK(second.resources.gres == "gpu:2");
  CHECK(second.resources.extra == Texts{"--nice=5"});
}

TEST_CASE("report settings") {
  const ReportSettings report = parsed(kFull).report;
  CHECK(report.metric == "epoch_s");
  CHECK(report.time_unit == "min");
  CHECK(report.confidence == 0.9);
  CHECK(report.paired);
  CHECK(report.scaling == Scaling::weak);
  CHECK(report.columns == Texts{"strategy", "speedup"});
  CHECK(report.group_by == Texts{"precision"});
  REQUIRE(report.where.size() == 2);
  CHECK(texts_of(report.where[0].second) == Texts{"baseline", "ddp"});
  CHECK(report.sort == Texts{"nodes"});
}

TEST_CASE("what is not said has its documented default") {
  const Experiment small = parsed("experiment: small\ntrainer: mnist_rnn\nmatrix: {epochs: [1, 2]}\n");
  CHECK(small.is_trainer());
  CHECK(small.work.command.empty());
  CHECK_FALSE(small.work.shell);
  CHECK(small.work.launch == Launch::rank);
  CHECK(small.repeats == 6);
  CHECK(small.warmups == 0);
  CHECK(small.seed_per_repeat);
  CHECK(small.seed == 1);
  CHECK(small.executor == "local");
  CHECK(small.order == Order::interleaved);
  CHECK(small.launcher == "srun");
  CHECK_FALSE(small.work.resources.time_s.has_value());
  CHECK(small.work.resources.cpus_per_task == 1);
  CHECK(small.work.success.exit_code == 0);
  CHECK(small.retries.lost == 2);
  CHECK(small.baseline.empty());
  CHECK(small.report.confidence == 0.95);
  CHECK(small.report.time_unit == "s");
  CHECK_FALSE(small.report.metric.has_value());
  CHECK(small.limits.configurations == 1'000'000);
  CHECK_FALSE(small.limits.cost.gpu_hours.has_value());
  CHECK(small.site.name == "local");
  CHECK(small.axis_names() == Texts{"epochs", "nodes", "gpus_per_node"});
}

TEST_CASE("the study of the design: a trainer, some strategies by a command of their own") {
  const Experiment study = parsed(R"yaml(
experiment: mnist_scaling
trainer: mnist_rnn
matrix:
  strategy: [baseline, ddp, hf]
  nodes: [1, 2]
  gpus_per_node: [1, 2]
  epochs: [2]
exclude:
  - {strategy: baseline, nodes: 2}
  - {strategy: baseline, gpus_per_node: 2}
  - {strategy: [ddp, hf], nodes: 2, gpus_per_node: 1}
include: [{strategy: ddp, nodes: 2, gpus_per_node: 2, epochs: 5}]
parameters: {batch_size: 8, data: data/mnist}
overrides: [{when: {strategy: hf}, command: [python, train_hf.py, "{{epochs}}"], launch: once, resources: {time: "04:00:00"}}]
baseline: {strategy: baseline}
profiles:
  laptop: {matrix: {nodes: [1], epochs: [1]}, parameters: {batch_size: 4}}
)yaml");
  CHECK(study.work.trainer == "mnist_rnn");
  CHECK(study.exclude.size() == 3);
  CHECK(study.overrides.size() == 1);
}

TEST_CASE("a command for the shell is one text") {
  const Experiment shell = parsed("experiment: a\nshell: true\ncommand: \"./prog {{n}} | tee out\"\nmatrix: {n: [1]}\n");
  CHECK(shell.work.shell);
  CHECK(shell.work.command == Texts{"./prog {{n}} | tee out"});
}

TEST_CASE("a study of included points only takes its axes from them") {
  const Experiment points =
      parsed("experiment: a\ncommand: [p]\ninclude:\n  - {n: 1, nodes: 2}\n  - {n: 2, nodes: 4}\nbaseline: {n: 1}\n");
  CHECK(points.matrix.empty());
  CHECK(points.axis_names() == Texts{"n", "nodes", "gpus_per_node"});
  CHECK(points.include.size() == 2);
}

TEST_CASE("the starter experiment is accepted, with its profile too") {
  const Experiment starter = parse_experiment(starter_experiment(), "starter.yaml", {});
  CHECK(starter.name == "starter");
  CHECK(starter.matrix.size() == 2);
  const Experiment laptop =
      parse_experiment(starter_experiment(), "starter.yaml", {.profile = "laptop", .site = {}, .settings = {}});
  CHECK(laptop.repeats == 3);
}

TEST_CASE("every starter is accepted and is what was asked for") {
  for (const std::string& task : trainer_tasks()) {
    StarterOptions options;
    options.name = "mine";
    options.trainer = task;
    const Experiment starter = parse_experiment(starter_experiment(options), "starter.yaml", {});
    CHECK(starter.name == "mine");
    CHECK(starter.work.trainer == task);
  }
  StarterOptions of_command;
  of_command.command = {"torchrun", "train.py", "it's", "--lr={{lr}}"};
  const Experiment program = parse_experiment(starter_experiment(of_command), "starter.yaml", {});
  CHECK(program.work.command == Texts{"torchrun", "--nproc_per_node={{gpus_per_node}}", "train.py", "it's", "--lr={{lr}}"});
  CHECK(program.work.launch == Launch::node);
  CHECK(program.axis_names() == Texts{"gpus_per_node", "lr", "nodes"});
  StarterOptions of_import;
  of_import.import = true;
  const Experiment imports = parse_experiment(starter_experiment(of_import), "starter.yaml", {});
  CHECK_FALSE(imports.runs_anything());
  CHECK(imports.repeats == 0);
  REQUIRE(imports.imports.size() == 1);
  CHECK(imports.imports[0].headings == std::map<std::string, std::string>{{"val_loss", "eval/loss"}});
}

TEST_CASE("line ends of Windows and a byte order mark change nothing") {
  const Experiment read = parsed(
      "\xEF\xBB\xBF"
      "experiment: a\r\ncommand: [p, \"{{n}}\"]\r\nmatrix:\r\n  n: [1]\r\n");
  CHECK(read.name == "a");
  CHECK(read.work.command == Texts{"p", "{{n}}"});
  CHECK(read.origins.at("command") == "x.yaml:2:10");
}

TEST_CASE("allocation: blocks are compared within themselves, unless the file says otherwise") {
  const std::string file = "experiment: x\ncommand: [prog, \"{{k}}\"]\nmatrix: {k: [1, 2]}\n";
  const Experiment plain = parsed(file);
  CHECK_FALSE(plain.in_blocks());
  CHECK_FALSE(plain.report.paired);
  const Experiment blocks = parsed(file + "allocation: {per: block}\nreport: {confidence: 0.9}\n");
  CHECK(blocks.in_blocks());
  CHECK(blocks.report.in_blocks);
  CHECK(blocks.report.paired);
  CHECK_FALSE(parsed(file + "allocation: {per: block}\nreport: {paired: false}\n").report.paired);
  CHECK_FALSE(parsed(file + "allocation: {per: run}\n").in_blocks());
}
