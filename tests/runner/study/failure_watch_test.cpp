#include "study/failure_watch.hpp"

#include <doctest/doctest.h>

namespace hpcbench {

namespace {

AttemptKey failed_key(const std::string& config_id, int number) { return {config_id, RunName{RunKind::repeat, number}, 1}; }

}  // namespace

TEST_CASE("numbers do not make another failure, exit codes and signals do") {
  FailureWatch watch;
  CHECK(watch.note_failure(failed_key("aa", 1), State::failed,
                           "rank 0 failed with exit code 1: no space at 0x7f3a in aa, step 12"));
  CHECK_FALSE(
      watch.note_failure(failed_key("bb", 1), State::failed, "rank 3 failed with exit code 1: no space at 0x11 in bb, step 9"));
  CHECK(watch.note_failure(failed_key("cc", 1), State::failed,
                           "rank 0 failed with exit code 2: no space at 0x7f3a in cc, step 12"));
  CHECK(watch.note_failure(failed_key("cc", 2), State::failed, "rank 0 failed (signal 9)"));
  CHECK(watch.note_failure(failed_key("cc", 3), State::failed, "rank 0 failed (signal 11)"));
  CHECK(watch.repeated().size() == 1);
}

TEST_CASE("a failure that is followed by another attempt is no reason to stop") {
  FailureLimits limits;
  limits.to_run = {"aa"};
  limits.most = 2;
  FailureWatch watch;
  CHECK(watch.note_failure(failed_key("aa", 1), State::failed, "exit code 1"));
  watch.forgive(failed_key("aa", 1));
  CHECK_FALSE(watch.note_failure(failed_key("aa", 2), State::failed, "exit code 1"));  // told once
  CHECK_FALSE(watch.reason_to_stop(limits));
  CHECK(watch.repeated().empty());
  watch.note_failure(failed_key("aa", 3), State::failed, "exit code 1");
  CHECK(watch.reason_to_stop(limits));
}

TEST_CASE("a study stops when each configuration has failed alike, and nothing else happened") {
  FailureLimits limits;
  limits.to_run = {"aa", "bb"};
  FailureWatch watch;
  watch.note_failure(failed_key("aa", 1), State::failed, "exit code 1");
  CHECK_FALSE(watch.reason_to_stop(limits));
  watch.note_failure(failed_key("aa", 2), State::failed, "exit code 1");
  CHECK_FALSE(watch.reason_to_stop(limits));
  watch.note_failure(failed_key("bb", 1), State::failed, "exit code 1");
  CHECK(watch.reason_to_stop(limits));
  limits.keep_going = true;
  CHECK_FALSE(watch.reason_to_stop(limits));
  limits.most = 3;
  CHECK(watch.reason_to_stop(limits));
  limits = {false, {}, limits.to_run, true};
  CHECK_FALSE(watch.reason_to_stop(limits));
  limits.any_succeeded = false;
  watch.note_success();
  CHECK_FALSE(watch.reason_to_stop(limits));
}

TEST_CASE("runs that the machine lost do not stop a study") {
  FailureWatch watch;
  const FailureLimits limits{false, 2, {"aa"}, false};
  watch.note_failure(failed_key("aa", 1), State::lost, "the job ended");
  watch.note_failure(failed_key("aa", 2), State::lost, "the job ended");
  CHECK_FALSE(watch.reason_to_stop(limits));
}

}  // namespace hpcbench
