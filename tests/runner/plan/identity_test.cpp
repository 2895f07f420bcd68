#include "plan/identity.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "base/host.hpp"
#include "fakes/example_experiment.hpp"
#include "plan/plan.hpp"
#include "spec/read_experiment.hpp"

using namespace hpcbench;

namespace {

std::vector<std::string> plan_ids(const Experiment& experiment) {
  std::vector<std::string> ids;
  for (const Configuration& configuration : make_plan(experiment).configurations) ids.push_back(configuration.id);
  return ids;
}

/// The ids after a change to the example.
std::vector<std::string> ids_after(const std::function<void(Experiment&)>& change) {
  Experiment experiment = example_experiment();
  change(experiment);
  return plan_ids(experiment);
}

}  // namespace

TEST_CASE("an id is the SHA-256 of one line of canonical JSON") {
  const std::string line =
      R"({"axes":{"gpus_per_node":1,"nodes":1,"strategy":"baseline"},)"
      R"("command":["python","train.py","--strategy={{strategy}}","--lr={{lr}}"],"cpus_per_task":1,"launch":"rank",)"
      R"("parameters":{"batch_size":8,"lr":1e-5}})";
  CHECK(plan_ids(example_experiment()).front() == sha256_hex(line, 16));
  // Computed with sha256sum. If this changes, everything that anybody has measured is orphaned.
  CHECK(plan_ids(example_experiment()).front() == "88daa42e2d188c1b");
}

TEST_CASE("a range and the list that it stands for have the same ids") {
  const auto ids_of = [](const std::string& values) {
    return plan_ids(parse_experiment("experiment: x\ncommand: [echo, \"{{n}}\"]\nmatrix: {n: " + values + "}\n", "x.yaml", {}));
  };
  CHECK(ids_of("{from: 1, to: 64, times: 2}") == ids_of("[1, 2, 4, 8, 16, 32, 64]"));
  CHECK(ids_of("{from: 0, to: 1, step: 0.25}") == ids_of("[0, 0.25, 0.5, 0.75, 1.0]"));
  CHECK(ids_of("{from: 1e-6, to: 0.001, times: 10}") == ids_of("[0.000001, 1e-5, 0.0001, 1e-3]"));
}

TEST_CASE("every field of the identity has its place in the line") {
  Work work;
  work.trainer = "mnist_rnn";
  work.launch = Launch::node;
  work.resources.cpus_per_task = 8;
  work.resources.gres = "gpu:a100:4";
  work.resources.constraint = "nvlink";
  work.resources.exclusive = true;
  work.modules = {"cuda"};
  work.partition = "big";
  work.setup = {"ulimit -l unlimited"};
  work.container = Container{"x.sif"};
  work.files = {{"on/disk.in", "HPL.dat", {}}};
  work.parameters = plain_bindings({{"z", "true"}, {"a", "text"}});
  const IdentityTail tail = identity_tail(work);
  CHECK(
      tail.before_derived + tail.after_derived ==
      R"(,"constraint":"nvlink","container":"x.sif","cpus_per_task":8,"exclusive":true,"files":["HPL.dat"],"gres":"gpu:a100","launch":"node",)"
      R"("modules":["cuda"],"parameters":{"a":"text","z":true},"partition":"big","setup":["ulimit -l unlimited"],"task":"mnist_rnn"})");
  CHECK(gres_without_count("gpu:4") == "gpu");
  CHECK(gres_without_count("gpu") == "gpu");
  CHECK(gres_without_count("gpu:a100:2,shard:8") == "gpu:a100,shard");
}

TEST_CASE("spelling and order are not identity") {
  const std::vector<std::string> ids = plan_ids(example_experiment());
  CHECK(ids_after([](Experiment& e) {
          e.work.parameters = plain_bindings({{"lr", "0.00001"}, {"batch_size", "8.0"}});
        }) == ids);
  CHECK(ids_after([](Experiment& e) { e.matrix.push_back(plain_axis("nodes", {"1"})); }) == ids);
  std::vector<std::string> turned = ids_after([](Experiment& e) { std::swap(e.matrix[0], e.matrix[1]); });
  std::vector<std::string> sorted = ids;
  std::sort(turned.begin(), turned.end());
  std::sort(sorted.begin(), sorted.end());
  CHECK(turned == sorted);
}

TEST_CASE("what may change without measuring again") {
  const std::vector<std::string> ids = plan_ids(example_experiment());
  const std::vector<std::function<void(Experiment&)>> harmless = {
      [](Experiment& e) { e.name = "other"; },
      [](Experiment& e) { e.description = "other"; },
      [](Experiment& e) { e.repeats = 7; },
      [](Experiment& e) { e.warmups = 1; },
      [](Experiment& e) { e.seed = 9; },
      [](Experiment& e) { e.order = Order::sequential; },
      [](Experiment& e) { e.report.time_unit = "min"; },
      [](Experiment& e) { e.site.partition = "gpu"; },
      [](Experiment& e) { e.work.resources.time_s = 1; },
      [](Experiment& e) { e.work.resources.mem = "1G"; },
      [](Experiment& e) { e.work.resources.extra = {"--nice"}; },
      [](Experiment& e) {
        e.work.metrics = {{"t", "*.log", "x", "s", {}}};
      },
      [](Experiment& e) { e.work.success.pattern = "done"; },
  };
  for (const auto& change : harmless) CHECK(ids_after(change) == ids);
}

TEST_CASE("what makes another configuration") {
  const std::vector<std::string> ids = plan_ids(example_experiment());
  const std::vector<std::function<void(Experiment&)>> decisive = {
      [](Experiment& e) { e.work.command.emplace_back("--fast"); },
      [](Experiment& e) {
        e.work.command = {"python train.py"};
        e.work.shell = true;
      },
      [](Experiment& e) { e.work.trainer = "mnist_rnn"; },
      [](Experiment& e) { e.work.launch = Launch::once; },
      [](Experiment& e) { e.work.parameters[1].second = Value::from_plain("2e-5"); },
      [](Experiment& e) { e.work.parameters[0].second = Value::from_text("8"); },
      [](Experiment& e) { e.work.resources.cpus_per_task = 2; },
      [](Experiment& e) { e.work.resources.gres = "gpu:a100:1"; },
      [](Experiment& e) { e.work.resources.constraint = "x"; },
      [](Experiment& e) { e.work.resources.exclusive = true; },
      [](Experiment& e) { e.work.modules = {"cuda"}; },
      [](Experiment& e) { e.work.setup = {"true"}; },
      [](Experiment& e) { e.work.container = Container{"x.sif"}; },
      [](Experiment& e) { e.matrix.push_back(plain_axis("nodes", {"2"})); },
  };
  for (const auto& change : decisive) {
    const std::vector<std::string> changed = ids_after(change);
    for (std::size_t i = 0; i < ids.size(); ++i) CHECK(changed.at(i) != ids[i]);
  }
}
