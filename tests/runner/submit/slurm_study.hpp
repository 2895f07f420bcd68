#pragma once

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "base/error.hpp"
#include "executors/slurm/slurm_executor.hpp"
#include "fakes/fake_tool_runner.hpp"
#include "runner/submit/study_fixture.hpp"
#include "submit/attempt_batch.hpp"

namespace hpcbench {

using Fault = FakeSlurm::Fault;

/// A study on a fake Slurm. Each `begin` is a new hpcbench; study and Slurm outlive it.
struct SlurmStudy {
  explicit SlurmStudy(int configurations = 2, int repeats = 2) : study(configurations, repeats) {
    study.context.executor = "slurm";
    study.context.array_template = read_file(HPCBENCH_SOURCE_DIR "/templates/slurm_array.sh.mustache");
  }

  SlurmExecutor& begin() {
    dispatcher.reset();
    SlurmSettings settings;
    settings.studies = {{"study", study.results}};
    settings.max_queued = max_queued;
    executor = std::make_unique<SlurmExecutor>(settings, slurm, study.clock,
                                               [this](const std::string& text) { study.observer.notes.push_back(text); });
    dispatcher = study.make_dispatcher(*executor);
    return *executor;
  }
  /// Rounds of one second. True when every run has an outcome.
  bool rounds(int count) {
    for (int i = 0; i < count; ++i) {
      if (!dispatcher->step()) return true;
      executor->wait(1);
    }
    return false;
  }
  State state(int configuration, int repeat, int attempt = 1) {
    return study.observer.journal[study.key(configuration, repeat, attempt)];
  }
  FakeSlurm::Job& job(int configuration, int repeat, int attempt = 1) {
    FakeSlurm::Job* const found = slurm.find(study.folder(study.key(configuration, repeat, attempt)));
    REQUIRE(found != nullptr);
    return *found;
  }
  bool has_attempt(int configuration, int repeat, int attempt) const {
    return study.observer.journal.count(study.key(configuration, repeat, attempt)) != 0;
  }
  bool noted(const std::string& text) const {
    return std::any_of(study.observer.notes.begin(), study.observer.notes.end(),
                       [&](const std::string& note) { return note.find(text) != std::string::npos; });
  }
  /// Of the first 20 submissions, within a property; none is refused, which would end the study.
  void draw_faults() {
    slurm.fault = [kinds = *rc::gen::container<std::vector<int>>(20, rc::gen::inRange(0, 9)),
                   submission = std::size_t{0}](int) mutable {
      const auto fault = submission < kinds.size() ? static_cast<Fault>(kinds[submission++]) : Fault::none;
      return fault == Fault::refuse ? Fault::none : fault;
    };
  }

  StudyFixture study;
  FakeSlurm slurm;
  std::optional<int> max_queued;
  std::unique_ptr<SlurmExecutor> executor;
  std::unique_ptr<Dispatcher> dispatcher;
};

}  // namespace hpcbench
