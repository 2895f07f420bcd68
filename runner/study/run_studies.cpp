#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/interrupt.hpp"
#include "base/log.hpp"
#include "base/terminal.hpp"
#include "study/preflight.hpp"
#include "study/run_study.hpp"
#include "study/study_log.hpp"
#include "study/study_run.hpp"

namespace hpcbench {

namespace {

constexpr double kStepWait = 1;  // seconds that a call waits at most when nothing happens

/// A study of the call on its way.
struct Course {
  const Study* study;
  std::unique_ptr<StudyRun> run;
  bool has_begun = false;
  std::shared_ptr<LogFile> log = {};  // of its records, while other studies have their turn
  std::optional<int> code = {};       // it has ended
  std::exception_ptr error = {};      // by this
  std::string problem = {};           // its text
};

void end_course(Course& course, int code, const std::string& problem) {
  course.code = code;
  course.problem = problem;
  if (!problem.empty()) {
    course.error = std::current_exception();
    log_error(problem);
  }
  course.run.reset();
  close_study_log(code);
}

/// Takes a step of the study, with its own log, and of several with its name before its messages.
template <typename Step>
Pace take_step(Course& course, bool many, Step step) {
  swap_log(course.log);
  if (many) speak_for(course.study->experiment.name);
  Pace pace = Pace::ended;
  try {
    pace = step(*course.run);
    if (pace == Pace::ended) end_course(course, course.run->code(), "");
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
  return pace;
}

/// Before anything begins: throws with all that is wrong.
void refuse_problems(std::vector<Course>& courses) {
  std::string text;
  int worst = 0;
  for (const Course& course : courses) {
    if (course.problem.empty()) continue;
    if (courses.size() == 1) std::rethrow_exception(course.error);
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

/// A step of a study that has been checked: it begins once it has its lock, and then carries out its rounds.
Pace advance(Course& course, bool many) {
  const auto step = [&](StudyRun& run) { return course.has_begun ? run.step() : run.begin(); };
  const Pace pace = take_step(course, many, step);
  if (pace == Pace::again) course.has_begun = true;
  if (!course.problem.empty()) {
    if (!many) std::rethrow_exception(course.error);
    fmt::print(stderr, "{}: {}\n", course.study->experiment.name, course.problem);
  }
  return pace;
}

/// Carries all of them out in turn, in their order, until each has ended. Returns the worst exit code.
int carry_out(std::vector<Course>& courses, Call& call) {
  const bool many = courses.size() > 1;
  const auto is_open = [](const Course& course) { return !course.code; };
  // No study leaves a folder where another one is refused, and none begins before all are known to be ready.
  for (Course& course : courses) {
    take_step(course, many, [](const StudyRun& run) {
      run.check_new();
      return Pace::again;
    });
  }
  refuse_problems(courses);
  for (Course& course : courses)
    course.has_begun = take_step(course, many, [](StudyRun& run) { return run.begin(); }) == Pace::again;
  refuse_problems(courses);
  while (std::any_of(courses.begin(), courses.end(), is_open)) {
    const int free_before = call.executors.free_here();
    bool may_wait = true;
    for (Course& course : courses) {
      if (!is_open(course)) continue;
      may_wait = advance(course, many) != Pace::again && may_wait;
    }
    const bool freed = many && call.executors.free_here() > free_before;  // by one for those before it
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
  for (Study& study : studies) study.one_of_many = studies.size() > 1;
  const bool all_here =
      std::all_of(studies.begin(), studies.end(), [](const Study& study) { return study.experiment.executor == "local"; });
  Progress progress(system_clock(), all_here ? std::optional(options.slots) : std::nullopt, studies.size());
  Executors executors(studies, options.slots, [&progress](const std::string& text) { progress.print(text); });
  Call call{system_clock(), executors, progress};
  std::vector<Course> courses;
  for (const Study& study : studies) courses.push_back({&study, std::make_unique<StudyRun>(study, options, call)});
  return carry_out(courses, call);
}

}  // namespace hpcbench
