// How jobs of Slurm end: failures of ranks, limits, signals, reports.
#include <doctest/doctest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>

#include "runner/render/slurm_folder.hpp"

namespace hpcbench {

namespace {

TEST_CASE("slurm: the first rank that failed says how the run ended, not srun") {
  const SlurmFolder folder;
  const Experiment experiment = two_nodes({"bash", "-c", "exit $((RANK == 0 ? 0 : 4 + RANK))"});
  const RenderedAttempt attempt = folder.write(experiment);
  CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 5);
  const std::string finished = read_file(attempt.folder + "/finished.json");
  CHECK(finished.find("\"exit_code\":5,\"signal\":null,\"first_failed_rank\":1") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(attempt.folder + "/first_failed"));
}

TEST_CASE("slurm: near the time limit, and when asked to end") {
  SlurmFolder folder;
  Experiment experiment = command_experiment({"bash", "-c", "kill -s $NAMED $(ps -o ppid= -p $PPID); sleep 100"});
  experiment.work.launch = Launch::once;
  experiment.work.resources.time_s = 600;
  SUBCASE("USR1 is the time limit") {
    experiment.work.setup = {"export NAMED=USR1"};
    const RenderedAttempt attempt = folder.write(experiment);
    CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 124);
    CHECK(read_file(attempt.folder + "/finished.json").find("\"timed_out\":true,\"time_limit_s\":600") != std::string::npos);
  }
  SUBCASE("USR1 comes early: the program goes on until the job's end, which somebody moves, is near") {
    experiment.work.setup = {"export NAMED=USR1"};
    experiment.work.command.back() = "kill -s $NAMED $(ps -o ppid= -p $PPID); sleep 3; echo done; sleep 100";
    const RenderedAttempt attempt = folder.write(experiment);
    folder.add_tool("scontrol", "#!/usr/bin/env bash\ncd " + shell_quote(folder.folder / "") +
                                    "\nif [ -e first ]; then s=21; else s=17; echo $EPOCHSECONDS > first; fi\n"
                                    "echo \"JobId=1 EndTime=$(date -d @$(($(<first) + s)) +%FT%T) \"\n");
    CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 124);
    CHECK(read_file(attempt.folder + "/stdout.log") == "done\n");
    CHECK(read_file(attempt.folder + "/finished.json").find("\"timed_out\":true") != std::string::npos);
  }
  SUBCASE("TERM: only Slurm knows why") {
    experiment.work.setup = {"export NAMED=TERM"};
    const RenderedAttempt attempt = folder.write(experiment);
    CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 143);
    CHECK_FALSE(std::filesystem::exists(attempt.folder + "/finished.json"));
    CHECK(std::filesystem::exists(attempt.folder + "/stopped"));
  }
  SUBCASE("TERM after hpcbench cancel") {
    experiment.work.setup = {"export NAMED=TERM"};
    const RenderedAttempt attempt = folder.write(experiment);
    write_file(attempt.folder + "/cancel_requested", "", Durability::none);
    CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 143);
    CHECK(read_file(attempt.folder + "/finished.json").find("\"cancelled\":true") != std::string::npos);
  }
}

TEST_CASE("slurm: in the grace of a preemption its steps alone are told; a program that ends so was preempted") {
  SlurmFolder folder;
  folder.add_tool("scontrol", "#!/usr/bin/env bash\necho \"JobId=1 PreemptEligibleTime=x PreemptTime=$PREEMPTED EndTime=x\"\n");
  Experiment experiment = command_experiment({"bash", "-c", "exit 9"});
  experiment.work.launch = Launch::once;
  const RenderedAttempt attempt = folder.write(experiment);
  const std::string script = folder.write_batch(experiment, attempt);
  SUBCASE("preempted") {
    CHECK(folder.run_in_slurm(script, 0, "export PREEMPTED=2026-11-26T20:07:16; ") == 143);
    CHECK(read_file(attempt.folder + "/stopped").starts_with("PREEMPTED\nwall_s "));
    CHECK_FALSE(std::filesystem::exists(attempt.folder + "/finished.json"));
  }
  SUBCASE("failed") {
    CHECK(folder.run_in_slurm(script, 0, "export PREEMPTED=None; ") == 9);
    CHECK_FALSE(std::filesystem::exists(attempt.folder + "/stopped"));
  }
}

/// A tool that is called between the claim and the start of the processes, and sends a signal to the script before it answers.
std::string signalling_tool(const std::string& signal, const std::string& folder) {
  return "#!/usr/bin/env bash\nkill -s " + signal + " \"$(sed -n 's/^pid //p' " + shell_quote(folder + "/claim") +
         ")\"\nprintf 'localhost\\nn1\\n'\n";
}

TEST_CASE("slurm: a signal between the claim and the start starts nothing, and is told") {
  SlurmFolder folder;
  const Experiment experiment = two_nodes({"bash", "-c", "echo executed"});
  const RenderedAttempt attempt = folder.write(experiment);
  folder.add_tool("scontrol", signalling_tool("TERM", attempt.folder));
  SUBCASE("by somebody else") {
    CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 143);
    CHECK(read_file(attempt.folder + "/stopped").starts_with("TERM\n"));
    CHECK_FALSE(std::filesystem::exists(attempt.folder + "/finished.json"));
  }
  SUBCASE("by hpcbench cancel") {
    write_file(attempt.folder + "/cancel_requested", "", Durability::none);
    CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 143);
    CHECK(read_file(attempt.folder + "/finished.json").find("\"cancelled\":true") != std::string::npos);
  }
  SUBCASE("by the time limit") {
    folder.add_tool("scontrol", signalling_tool("USR1", attempt.folder));
    CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 124);
    CHECK(read_file(attempt.folder + "/finished.json").find("\"timed_out\":true") != std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(attempt.folder + "/stdout.log"));
  CHECK_FALSE(std::filesystem::exists(folder.folder / "calls"));
}

TEST_CASE("slurm: a signal before the claim touches nothing") {
  const SlurmFolder folder;
  const Experiment experiment = two_nodes({"bash", "-c", "echo executed"});
  const RenderedAttempt attempt = folder.write(experiment);
  const std::string script = folder.write_batch(experiment, attempt);
  // A signal that waits is there when the launcher looks for the first time.
  sigset_t term;
  sigset_t before;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &term, &before);
  const int status = folder.run_in_slurm(script, 0, "kill -s TERM $$; ");
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  CHECK(status == 143);
  CHECK(names_in(attempt.folder) == std::vector<std::string>{"job.sh", "run.json"});
  CHECK(folder.run_in_slurm(script) == 0);
}

TEST_CASE("slurm: what ends the whole job may reach the program before the launcher") {
  const SlurmFolder folder;
  // The program dies of SIGTERM; the launcher gets its own only when it has seen that.
  Experiment experiment = command_experiment({"bash", "-c", "touch \"$1/dying\"; kill -s TERM $$", "bash", "{{run_dir}}"});
  experiment.work.launch = Launch::once;
  const RenderedAttempt attempt = folder.write(experiment);
  const std::string script = folder.write_batch(experiment, attempt);
  std::string ends_job =
      "((until [ -e \"$A/out/dying\" ]; do sleep 0.05; done; sleep 0.5; "
      "kill -s TERM $(sed -n 's/^pid //p' \"$A/claim\")) &) 2>/dev/null; ";
  ends_job = "A=" + shell_quote(attempt.folder) + "; " + ends_job;
  SUBCASE("by somebody else") {
    CHECK(folder.run_in_slurm(script, 0, ends_job) == 143);
    CHECK(std::filesystem::exists(attempt.folder + "/stopped"));
    CHECK_FALSE(std::filesystem::exists(attempt.folder + "/finished.json"));
  }
  SUBCASE("by hpcbench cancel") {
    write_file(attempt.folder + "/cancel_requested", "", Durability::none);
    CHECK(folder.run_in_slurm(script, 0, ends_job) == 143);
    CHECK(read_file(attempt.folder + "/finished.json").find("\"cancelled\":true") != std::string::npos);
  }
  SUBCASE("a program that ends itself so has failed") {
    CHECK(folder.run_in_slurm(script) == 143);
    CHECK(read_file(attempt.folder + "/finished.json").find("\"exit_code\":null,\"signal\":15,\"first_failed_rank\":0") !=
          std::string::npos);
  }
}

TEST_CASE("slurm: success is a good report of every rank, whatever srun says") {
  SlurmFolder folder;
  const Experiment experiment = two_nodes({"bash", "-c", "echo executed"});
  const RenderedAttempt attempt = folder.write(experiment);
  const std::string script = folder.write_batch(experiment, attempt);
  nlohmann::json finished;
  const auto run_with = [&](const std::string& srun) {
    folder.add_tool("srun", "#!/bin/bash\necho called >>\"$FAKE_CALLS\"\nwhile [[ $1 == --* ]]; do shift; done\n" + srun);
    const int status = folder.run_in_slurm(script);
    finished = nlohmann::json::parse(read_file(attempt.folder + "/finished.json"));
    return status;
  };
  SUBCASE("a rank that left no report, with 0") {
    CHECK(run_with("for task in 0 1 3; do SLURM_PROCID=$task \"$@\"; done; exit 0\n") == 1);
    CHECK(finished["first_failed_rank"] == 2);
    CHECK(finished["error"].get<std::string>().starts_with("rank 2 left no report"));
    CHECK(finished["processes"].size() == 3);
  }
  SUBCASE("all ranks are well, with 1") {
    CHECK(run_with("for task in 0 1 2 3; do SLURM_PROCID=$task \"$@\"; done; exit 1\n") == 0);
    CHECK(finished["exit_code"] == 0);
    CHECK_FALSE(finished.contains("first_failed_rank"));
  }
  SUBCASE("a step that never began is tried again") {
    CHECK(run_with("[ $(wc -l <\"$FAKE_CALLS\") -ge 2 ] || { echo 'srun: error: Unable to create step' >&2; exit 1; }\n"
                   "for task in 0 1 2 3; do SLURM_PROCID=$task \"$@\"; done\n") == 0);
    CHECK(read_file(attempt.folder + "/stdout.log") == "executed\n");
    CHECK(read_file(folder.folder / "calls") == "called\ncalled\n");
  }
  SUBCASE("an option that srun refuses is not tried again, and no failure of a node") {
    CHECK(run_with("echo \"srun: unrecognized option '--nosuch'\nTry srun --help\" >&2; exit 255\n") == 255);
    CHECK(finished["error"] == "no process was started, fix `srun`: srun: unrecognized option '--nosuch'");
    CHECK_FALSE(finished.contains("never_began"));
    CHECK(read_file(folder.folder / "calls") == "called\n");
  }
  SUBCASE("a step that never begins is no failure of the program") {
    CHECK(run_with("echo 'srun: error: Unable to create step' >&2; exit 1\n") == 1);
    CHECK(finished["never_began"] == true);
    CHECK(finished["tail"].get<std::string>().ends_with("srun: error: Unable to create step"));
    CHECK(read_file(folder.folder / "calls") == "called\ncalled\ncalled\n");
    CHECK_FALSE(finished.contains("first_failed_rank"));
  }
  CHECK_FALSE(std::filesystem::exists(attempt.folder + "/try1"));
}

/// `tail` of the finished.json that a program leaves which writes these texts and fails.
std::optional<std::string> tail_after(const std::string& standard_error, const std::string& standard_output = "") {
  const SlurmFolder folder;
  write_file(folder.folder / "err", standard_error, Durability::none);
  write_file(folder.folder / "out", standard_output, Durability::none);
  Experiment experiment = two_nodes({"bash", "-c", "[ $RANK -ne 1 ] || { cat \"$1\"; cat \"$2\" >&2; exit 3; }", "bash",
                                     folder.folder / "out", folder.folder / "err"});
  const RenderedAttempt attempt = folder.write(experiment);
  REQUIRE(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 3);
  const auto json = nlohmann::json::parse(read_file(attempt.folder + "/finished.json"));
  if (!json.contains("tail")) return std::nullopt;
  return json.at("tail").get<std::string>();
}

TEST_CASE("slurm: the last lines of the first failed rank stand in finished.json, whatever bytes they are") {
  CHECK(tail_after("Traceback:\n  \"x\\y\"\tno\r\n\n") == "Traceback:\n  \"x\\y\"\tno");
  CHECK(tail_after(" \n\n", "said on stdout\n") == "said on stdout");
  CHECK_FALSE(tail_after("", "").has_value());
  CHECK(tail_after("gr\xC3\xB6\xC3\x9F"
                   "e \xE9\x9B\xAA \xF0\x9F\x98\x80") == "größe 雪 😀");
  CHECK(tail_after(std::string("a\0b\x01\x1B[1m\x7F", 9)) == std::string("a\0b\x01\x1B[1m\x7F", 9));
  // Bytes that are no UTF-8: a lone byte, an overlong form, a surrogate, half a character.
  CHECK(tail_after("\xFF|\xC0\x80|\xED\xA0\x80|\xE9\x9B") == "\uFFFD|\uFFFD\uFFFD|\uFFFD\uFFFD\uFFFD|\uFFFD\uFFFD");
  const std::string line(99, 'x');
  std::string many;
  for (int i = 0; i < 100; ++i) many += line + "\n";
  std::string twenty = line;
  for (int i = 1; i < 20; ++i) twenty += "\n" + line;
  CHECK(tail_after(many) == twenty);
  CHECK(tail_after(std::string(5000, 'y')) == std::string(2000, 'y'));
}

}  // namespace

}  // namespace hpcbench
