#include <doctest/doctest.h>

#include "attempt_folder.hpp"

using namespace hpcbench;

TEST_CASE("states without finished.json: intended, running, cancelled") {
  AttemptFolder folder;
  folder.run_json();
  CHECK(folder.read().state == State::intended);
  folder.file("claim", "token 00ff00ff00ff00ff\njob 4711\nhost node1\nboot_id b\npid 12\nstart_ticks 99\n");
  AttemptRecord record = folder.read();
  CHECK(record.state == State::running);
  CHECK(record.job == "4711");
  CHECK(record.node == "node1");
  CHECK_FALSE(record.reason);
  CHECK(record.metrics.empty());

  folder.file("claim", "");
  CHECK(folder.read().state == State::running);
  folder.file("claim", "revoked void: the submission is doubtful\n");
  record = folder.read();
  CHECK(record.state == State::cancelled);
  CHECK(record.reason == "void: the submission is doubtful");
  folder.file("claim", "revoked cancelled before it began\n").finished(R"("exit_code":0)");
  record = folder.read();
  CHECK(record.state == State::cancelled);
  CHECK(record.reason == "cancelled before it began");
  CHECK(record.warnings == std::vector<std::string>{"finished.json: of an attempt that was revoked; it does not count"});
}

TEST_CASE("started.json alone means running, a broken finished.json is none") {
  AttemptFolder folder;
  folder.run_json().file("started.json",
                         R"({"schema":1,"host":"n2","started_unix_s":1700000001.0,"job":"j9","devices":"GPU 0: H100"})");
  AttemptRecord record = folder.read();
  CHECK(record.state == State::running);
  CHECK(record.started_unix_s == 1700000001.0);
  CHECK(record.job == "j9");
  CHECK(record.facts.at("devices") == "GPU 0: H100");
  folder.file("finished.json", R"({"schema":1,"exit_code":)");
  record = folder.read();
  CHECK(record.state == State::running);
  CHECK(record.warnings == std::vector<std::string>{"finished.json: not a JSON object of schema 1"});
  folder.file("finished.json", R"({"schema":2,"exit_code":0})");
  CHECK(folder.read().state == State::running);
}

TEST_CASE("each outcome and its reason") {
  struct Example {
    const char* finished;
    State state;
    const char* reason;
  };
  const Example examples[] = {
      {R"("exit_code":0,"signal":null)", State::succeeded, nullptr},
      {R"("exit_code":0,"cancelled":true)", State::cancelled, "cancelled while it ran"},
      {R"("signal":15,"cancelled":true,"timed_out":true)", State::cancelled, "cancelled while it ran"},
      {R"("signal":9,"timed_out":true,"time_limit_s":60,"oom_kill":true)", State::timeout, "time limit of 1 min 00 s reached"},
      {R"("signal":15,"timed_out":true,"time_limit_s":60,"error":"no process had started")", State::timeout,
       "time limit of 1 min 00 s reached: no process had started"},
      {R"("exit_code":null,"signal":9,"timed_out":true)", State::timeout,
       "its job's time limit was reached after 42.5 s, before its own of 2 min 00 s"},
      {R"("signal":9,"oom_kill":true,"first_failed_rank":1)", State::out_of_memory,
       "rank 1 failed (signal 9): killed for memory (the cgroup's oom_kill count grew)"},
      {R"("exit_code":137,"oom_kill":true)", State::out_of_memory,
       "failed with exit code 137: killed for memory (the cgroup's oom_kill count grew)"},
      {R"("exit_code":1,"oom_kill":true)", State::failed, "failed with exit code 1"},
      {R"("signal":9)", State::failed, "failed (signal 9)"},
      {R"("signal":9,"oom_kill":false,"first_failed_rank":0)", State::failed, "rank 0 failed (signal 9)"},
      {R"("error":"cannot start train.py: No such file or directory","exit_code":127)", State::failed,
       "cannot start train.py: No such file or directory"},
      {R"("exit_code":3,"first_failed_rank":1,"tail":"Traceback\n  \u001b[31mValueError\u001b[0m: bad shape\n\n")",
       State::failed, "rank 1 failed with exit code 3: ValueError: bad shape"},
      {R"("exit_code":null,"signal":null)", State::failed, "failed: finished.json holds no exit code"},
      {R"("exit_code":"0")", State::failed, "failed: finished.json holds no exit code"},
  };
  for (const Example& example : examples) {
    CAPTURE(example.finished);
    AttemptFolder folder;
    const AttemptRecord record = folder.run_json().finished(example.finished).read();
    CHECK(record.state == example.state);
    CHECK(record.reason.value_or("none") == (example.reason == nullptr ? "none" : example.reason));
    CHECK(record.metrics.at("wall_s") == 42.5);
    if (example.state == State::timeout) CHECK(record.time_limit_s == 42.5);
  }
}

TEST_CASE("the program's own word about its end") {
  AttemptFolder folder;
  folder.run_json().finished(R"("exit_code":1,"first_failed_rank":1,"tail":"last words")");
  folder.file("events.jsonl", R"({"event":"error","text":"connection reset","cause":"rank 1: bad image","step":7})"
                              "\n");
  CHECK(folder.read().reason == "rank 1 failed with exit code 1: connection reset (step 7, cause: rank 1: bad image)");
  // The first rank that failed knows best.
  folder.file("events.1.jsonl", R"({"event":"error","text":"bad image","operation":"read"})"
                                "\n"
                                R"({"event":"error","text":"second"})"
                                "\n");
  CHECK(folder.read().reason == "rank 1 failed with exit code 1: bad image (read)");
  folder.file("events.2.jsonl", R"({"event":"error","code":"out_of_memory","text":"cannot allocate 2 GiB"})"
                                "\n");
  const AttemptRecord record = folder.read();
  CHECK(record.state == State::out_of_memory);
  CHECK(record.reason == "cannot allocate 2 GiB");
}

TEST_CASE("a training that diverged has a reason of its own, whichever rank saw it and failed first") {
  AttemptFolder folder;
  folder.run_json().finished(R"("exit_code":1,"first_failed_rank":0,"tail":"last words")");
  folder.file("events.jsonl", R"({"event":"error","text":"another rank failed first: the loss is nan at step 7","step":7})"
                              "\n");
  folder.file("events.1.jsonl", R"({"event":"error","code":"nan_loss","text":"the loss is nan at step 7","step":7})"
                                "\n");
  const AttemptRecord record = folder.read();
  CHECK(record.state == State::failed);
  CHECK(record.reason == "diverged: the loss is nan at step 7");
  // Both saw it, rank 1 first.
  folder.file("events.jsonl",
              R"({"event":"error","code":"nan_loss","text":"another rank failed first: rank 1: the loss is nan",)"
              R"("cause":"rank 1: the loss is nan","step":7})"
              "\n");
  CHECK(folder.read().reason == "diverged: rank 1: the loss is nan");
}

TEST_CASE("success is what the experiment says it is") {
  AttemptFolder folder;
  folder.run_json(R"("success":{"exit_code":3})").finished(R"("exit_code":3,"first_failed_rank":0)");
  CHECK(folder.read().state == State::succeeded);
  folder.finished(R"("exit_code":0)");
  CHECK(folder.read().reason == "failed with exit code 0");

  folder.run_json(R"("success":{"exit_code":0,"pattern":"^Training finished$"})");
  CHECK(folder.read().reason == "success pattern ^Training finished$ not found in stdout.log");
  folder.file("stdout.log", "epoch 1\nTraining finished early\n");
  CHECK(folder.read().state == State::failed);
  folder.file("stdout.log", std::string(3'000'000, 'x') + "\nTraining finished\nbye");
  CHECK(folder.read().state == State::succeeded);
}

TEST_CASE("settle_attempt: the executor's word counts only where the files say nothing") {
  AttemptFolder folder;
  folder.run_json().file("claim", "token t\njob 1\n");
  AttemptRecord record = settle_attempt(folder.path(), State::lost, "its process is gone");
  CHECK(record.state == State::lost);
  CHECK(record.reason == "its process is gone");
  CHECK_FALSE(record.metrics.contains("wall_s"));
  folder.finished(R"("exit_code":0)");
  CHECK(settle_attempt(folder.path(), State::lost, "its process is gone").state == State::succeeded);
}
