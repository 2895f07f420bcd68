#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/terminal.hpp"
#include "study/call.hpp"
#include "study/preflight.hpp"
#include "study/run_study.hpp"
#include "study/study_log.hpp"

namespace hpcbench {

namespace {

constexpr double kStepWait = 1;  // seconds that a call waits at most when nothing happens

/// One of several studies on its way.
struct Course {
  const Study* study;
  Steps<int> steps;
  std::shared_ptr<LogFile> log = {};  // where its records go
  std::optional<int> code = {};       // it has ended
  std::string problem = {};           // by this error
};

void end_course(Course& course, int code, const std::string& problem) {
  course.code = code;
  course.problem = problem;
  if (!problem.empty()) log_error(problem);
  close_study_log(code);
}

/// One step, with its name before its messages and its own log.
void step_course(Course& course) {
  swap_log(course.log);
  speak_for(course.study->experiment.name);
  try {
    if (!course.steps.step()) end_course(course, course.steps.result(), "");
  } catch (const InputError& error) {
    end_course(course, 2, error.what());
  } catch (const UnavailableError& error) {
    end_course(course, 3, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    end_course(course, 3, describe(error));
  } catch (const std::exception& error) {
    end_course(course, 4, fmt::format("internal error: {}", error.what()));
  }
  speak_for("");
  course.log = swap_log(nullptr);
}

/// Before anything begins: all that is wrong, at once.
void refuse_problems(std::vector<Course>& courses) {
  std::string text;
  int worst = 0;
  for (const Course& course : courses) {
    if (course.problem.empty()) continue;
    text += (text.empty() ? "" : "\n") + course.study->experiment.name + ": " + course.problem;
    worst = std::max(worst, *course.code);
  }
  if (text.empty()) return;
  text += "\nNothing was started.";
  for (Course& course : courses) {
    if (course.code) continue;
    swap_log(course.log);
    close_study_log(worst);
  }
  if (worst == 2) throw InputError(text);
  throw UnavailableError(text);
}

/// All in turn, in their order, until each has ended.
int run_in_turn(std::vector<Course>& courses, Call& call) {
  const auto is_open = [](const Course& course) { return !course.code; };
  // Studies without a folder are checked in the first pass, all with what is on record in the second.
  int checks = 2;
  while (std::any_of(courses.begin(), courses.end(), is_open)) {
    const int free_before = call.executors.free_here();
    bool may_wait = true;
    for (Course& course : courses) {
      if (!is_open(course)) continue;
      step_course(course);
      if (is_open(course)) may_wait = may_wait && course.steps.pause() == Pause::look;
      if (checks <= 0 && !course.problem.empty()) fmt::print(stderr, "{}: {}\n", course.study->experiment.name, course.problem);
    }
    if (checks > 0) refuse_problems(courses);
    --checks;
    const bool freed = call.executors.free_here() > free_before;  // by one for those before it
    if (may_wait && !freed && std::any_of(courses.begin(), courses.end(), is_open)) call.executors.wait(kStepWait);
  }
  int worst = 0;
  for (const Course& course : courses) worst = std::max(worst, *course.code);
  return worst;
}

}  // namespace

int run_studies(std::vector<Study> studies, const RunOptions& options) {
  for (const Study& study : studies) require_own(study);
  require_studies(studies, options);
  catch_interrupts();
  const bool many = studies.size() > 1;
  for (Study& study : studies) study.one_of_many = many;
  Call call{.executors = Executors(studies, options.slots, [&call](const std::string& text) { call.tell(text); })};
  if (!many) {
    Steps<int> steps = run_study(studies.front(), options, call);
    while (steps.step()) {
      if (steps.pause() == Pause::look) call.executors.wait(kStepWait);
    }
    return steps.result();
  }
  const bool all_here =
      std::all_of(studies.begin(), studies.end(), [](const Study& study) { return study.experiment.executor == "local"; });
  Progress shared(system_clock(), all_here ? std::optional(options.slots) : std::nullopt);
  call.shared = true;
  call.progress = &shared;
  std::vector<Course> courses;
  for (const Study& study : studies) courses.push_back({&study, run_study(study, options, call)});
  return run_in_turn(courses, call);
}

}  // namespace hpcbench
