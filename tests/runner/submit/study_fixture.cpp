#include "runner/submit/study_fixture.hpp"

#include <fmt/format.h>

namespace hpcbench {

StudyFixture::StudyFixture(int configurations, int repeats, int warmups)
    : results(temporary / "results/study"), observer(results) {
  auto work = std::make_shared<Work>();
  work->command = {"true"};
  experiment.name = "study";
  experiment.path = "study.yaml";
  experiment.work = *work;
  experiment.repeats = repeats;
  experiment.warmups = warmups;
  Axis axis{"size", {}};
  plan.axes = {"size", "nodes", "gpus_per_node"};
  plan.varied = {"size"};
  plan.repeats = repeats;
  plan.warmups = warmups;
  plan.order = Order::sequential;
  for (int i = 0; i < configurations; ++i) {
    axis.values.push_back(Value::from_integer(i));
    plan.configurations.push_back({.id = fmt::format("{:016x}", i),
                                   .values = {Value::from_integer(i), Value::from_integer(1), Value::from_integer(1)},
                                   .work = work});
  }
  experiment.matrix = {axis};
  experiment.order = Order::sequential;
  context.results = results;
  context.call_folder = temporary.path().string();
  context.executor = "local";
  context.job_template = "exec {{hpcbench}} rank -n 1 -- true\n";
}

std::unique_ptr<Dispatcher> StudyFixture::make_dispatcher(Executor& executor) {
  auto dispatcher = std::make_unique<Dispatcher>(experiment, plan, context, executor, clock, make_events());
  if (hold) dispatcher->hold_when(hold);
  dispatcher->recover(observer.known());
  return dispatcher;
}

Events& StudyFixture::make_events() {
  events_.push_back(std::make_unique<Events>(results, reading, std::vector<Listener*>{&observer}));
  return *events_.back();
}

void StudyFixture::fail_by_value() {
  ReadingRules rules;
  rules.success_require = {"speed > 1"};
  reading.rules["rule"] = rules;
  reading.usual = "rule";
}

int StudyFixture::run(FakeExecutor& executor, int rounds) {
  const std::unique_ptr<Dispatcher> dispatcher = make_dispatcher(executor);
  for (int round = 1; round <= rounds; ++round) {
    if (!dispatcher->step()) return round;
    executor.wait(1);
  }
  return rounds;
}

AttemptKey StudyFixture::key(int configuration, int repeat, int attempt) const {
  return {plan.configurations[static_cast<std::size_t>(configuration)].id, RunName{RunKind::repeat, repeat}, attempt};
}

AttemptKey StudyFixture::warmup(int configuration, int number, int attempt) const {
  return {plan.configurations[static_cast<std::size_t>(configuration)].id, RunName{RunKind::warmup, number}, attempt};
}

bool run_until_crash(StudyFixture& study, int slots, int point) {
  FaultPoints faults;
  faults.arm(point);
  FakeExecutor executor = study.make_executor(slots);
  executor.faults = &faults;
  study.observer.faults = &faults;
  try {
    study.run(executor);
  } catch (const Crash&) {
  }
  study.observer.faults = nullptr;
  return faults.fired();
}

void run_to_the_end(StudyFixture& study, int slots) {
  study.observer.late = false;
  FakeExecutor executor = study.make_executor(slots);
  study.run(executor);
}

}  // namespace hpcbench
