#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "executors/commands/commands_executor.hpp"
#include "fakes/manual_clock.hpp"
#include "fakes/temporary_folder.hpp"
#include "runfiles/claim.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

BatchSystem site_of(const std::string& name) {
  const Experiment experiment = parse_experiment("{experiment: s, command: ['true'], matrix: {n: [1]}}", "s.yaml",
                                                 {.profile = {}, .site = HPCBENCH_SOURCE_DIR "/sites/" + name, .settings = {}});
  return experiment.site.commands.value();
}

ToolResult answer(int status, const std::string& output, const std::string& errors = "") {
  return {ToolResult::Kind::exited, status, output, errors};
}

/// `id name phase` of each job.
std::vector<std::string> jobs_of(const BatchSystem& system, const std::string& output) {
  std::vector<std::string> said;
  const BatchTools tools(system);
  const auto jobs = tools.jobs_in(answer(0, output));
  REQUIRE(jobs);
  for (const BatchJob& job : *jobs) {
    const std::map<JobState, std::string> words = {{JobState::waiting, "waiting"},
                                                   {JobState::running, "running"},
                                                   {JobState::stuck, "stuck"},
                                                   {JobState::ended, "ended"},
                                                   {JobState::unknown, "unknown"}};
    said.push_back(job.id + " " + job.name + " " + words.at(job.phase));
  }
  return said;
}

/// A batch system that answers what the test says, and submits whatever it is given.
class ScriptedBatch : public ToolRunner {
 public:
  ToolResult list = answer(0, "");
  std::vector<std::vector<std::string>> calls;
  ToolResult submitted = answer(0, "Job 7 was taken");

  ToolResult perform(const ToolCall& call) override {
    calls.push_back(call.argv);
    if (call.argv.front() == "sub") return submitted;
    return call.argv.front() == "list" ? list : answer(0, "");
  }
};

/// An attempt of a study, in a batch, and an executor that submitted nothing yet.
struct Scene {
  TemporaryFolder temporary;
  std::string results = temporary / "s";
  std::string folder = results + "/0000000000000000/r01/a1";
  ScriptedBatch batch;
  ManualClock clock;
  std::vector<std::string> notes;
  CommandsExecutor executor;

  Scene() : executor(settings(), batch, clock, [this](const std::string& text) { notes.push_back(text); }) {
    make_folders(folder);
    make_folders(results + "/batches/b");
    write_file(folder + "/run.json", R"({"schema": 1, "batch": "b"})", Durability::none);
    write_file(results + "/batches/b/attempts.txt", "0000000000000000/r01/a1\n", Durability::none);
    write_file(results + "/batches/b/job.sh", "name {{name}} log {{log}} folder {{folder}}\n", Durability::none);
  }

  CommandsSettings settings() const {
    CommandsSettings settings;
    settings.studies = {{"s", results}};
    settings.system.name = "Fake";
    settings.system.submit = {"sub", "{{script}}"};
    settings.system.id = "Job ([0-9]+)";
    settings.system.later = "later";
    settings.system.list = {"list"};
    settings.system.job = "(?m)^(?P<id>[0-9]+) (?P<name>[^ ]+) (?P<state>.*)$";
    settings.system.waiting = {"Q"};
    settings.system.running = {"R"};
    settings.system.stuck = {"E"};
    settings.system.cancel = {"del", "{{ids}}"};
    return settings;
  }
  Submission submit() { return executor.submit({"b", 0, {folder}, {}, {"hash"}}); }
  JobStatus poll_after(double seconds) {
    clock.advance(seconds);
    executor.wait(0);
    return executor.status(folder, "");
  }
  void lists(const std::string& state) { batch.list = answer(0, state.empty() ? "" : "7 hb.s.b.0 " + state + "\n"); }
  void claim() { REQUIRE(try_claim(folder, {.revoked = false, .why = {}, .token = "b", .job = "7", .process = {}})); }
};

}  // namespace

TEST_CASE("Grid Engine: what a real one printed") {
  const BatchSystem system = site_of("gridengine.yaml");
  const BatchTools tools(system);
  CHECK(tools.id_in(answer(0, "12\n")) == "12");
  CHECK_FALSE(
      tools.id_in(answer(1, "", "Unable to run job: Job was rejected because job requests unknown queue \"x\"\nExiting.\n")));
  CHECK(tools.says_later(
      answer(1, "", "Unable to run job: job rejected: Only 2 jobs are allowed per user (current job count: 2).\n")));
  CHECK(jobs_of(system, read_file(HPCBENCH_SOURCE_DIR "/tests/gridengine/qstat.xml")) ==
        std::vector<std::string>{"1 hb.exp.0123456789abcdef.0 running", "2 hb.exp.0123456789abcdef.1 stuck"});
  CHECK(jobs_of(system, "<job_info>\n  <queue_info>\n  </queue_info>\n</job_info>\n").empty());
  CHECK_FALSE(tools.jobs_in(answer(1, "", "error: unable to contact qmaster using port 6444 on host \"localhost\"")));
}

TEST_CASE("PBS: what its documentation prints") {
  const BatchSystem system = site_of("pbs.yaml");
  CHECK(BatchTools(system).id_in(answer(0, "1234.vbox\n")) == "1234.vbox");
  const std::string output = R"({
    "timestamp":1479277336,
    "pbs_version":"14.1",
    "pbs_server":"vbox",
    "Jobs":{
        "1.vbox":{
            "Job_Name":"hb.s.b.0",
            "Job_Owner":"root@vbox",
            "job_state":"Q",
            "queue":"workq",
            "Variable_List":{"PBS_O_HOME":"/root","PBS_O_LANG":"en_US.UTF-8"}
        },
        "2.vbox":{
            "Job_Name":"hb.s.b.1",
            "Job_Owner":"root@vbox",
            "resources_used":{"cpupercent":0,"ncpus":1},
            "job_state":"R"
        }
    }
}
)";
  CHECK(jobs_of(system, output) == std::vector<std::string>{"1.vbox hb.s.b.0 waiting", "2.vbox hb.s.b.1 running"});
  CHECK(jobs_of(system, "").empty());
}

TEST_CASE("LSF: what its documentation prints") {
  const BatchSystem system = site_of("lsf.yaml");
  const BatchTools tools(system);
  CHECK(tools.id_in(answer(0, "Job <123> is submitted to default queue <normal>.\n")) == "123");
  CHECK(jobs_of(system, "123|PEND|hb.s.b.0\n124|RUN|hb.s.b.1\n125|EXIT|hb.s.b.2\n126|NEWSTATE|hb.s.b.3\n") ==
        std::vector<std::string>{"123 hb.s.b.0 waiting", "124 hb.s.b.1 running", "125 hb.s.b.2 ended", "126 hb.s.b.3 unknown"});
  CHECK(tools.jobs_in(answer(255, "", "No unfinished job found\n")).value().empty());
  CHECK_FALSE(tools.jobs_in(answer(255, "", "LSF is down. Please wait ...\n")));
}

TEST_CASE("Flux: what its documentation prints") {
  const BatchSystem system = site_of("flux.yaml");
  CHECK(BatchTools(system).id_in(answer(0, "ƒ3ETxsR9H\n")) == "ƒ3ETxsR9H");
  CHECK(jobs_of(system, "ƒ3ETxsR9H SCHED hb.s.b.0\nƒ38rBqEWT RUN hb.s.b.1\n") ==
        std::vector<std::string>{"ƒ3ETxsR9H hb.s.b.0 waiting", "ƒ38rBqEWT hb.s.b.1 running"});
}

TEST_CASE("commands: a word that is one placeholder becomes all of its values") {
  CHECK(fill_command({"del", "-x", "{{ids}}", "of {{user}}"}, {{"ids", {"1", "2"}}, {"user", {"me"}}}) ==
        std::vector<std::string>{"del", "-x", "1", "2", "of me"});
}

TEST_CASE("commands: a submitted job has its own script and name") {
  Scene scene;
  CHECK(scene.submit().jobs == std::vector<std::string>{"7"});
  const std::string base = scene.results + "/batches/b/0";
  CHECK(read_file(base + ".sh") == "name hb.s.b.0 log " + base + ".out folder " + scene.folder + "\n");
  CHECK(scene.batch.calls.front() == std::vector<std::string>{"sub", base + ".sh"});
}

TEST_CASE("commands: a submission that fails is refused only if the list lacks the job") {
  Scene scene;
  scene.batch.submitted = answer(1, "", "no such queue");
  CHECK(scene.submit().kind == Submission::Kind::refused);
  scene.lists("Q");
  CHECK(scene.submit().jobs == std::vector<std::string>{"7"});
  scene.batch.list = answer(1, "", "down");
  CHECK(scene.submit().kind == Submission::Kind::doubtful);
  scene.batch.submitted = answer(1, "", "try later");
  CHECK(scene.submit().kind == Submission::Kind::later);
  CHECK(scene.executor.free_slots() == 0);
  scene.lists("");
  scene.batch.submitted = answer(0, "thank you");  // taken or not: nothing tells
  CHECK(scene.submit().kind == Submission::Kind::doubtful);
}

TEST_CASE("commands: a job that was never known is void, after half a minute of complete lists") {
  Scene scene;
  scene.executor.adopt(scene.folder, "");
  CHECK(scene.poll_after(1).state == JobState::running);
  scene.batch.list = answer(1, "", "down");
  CHECK(scene.poll_after(100).state == JobState::running);
  scene.lists("");
  const JobStatus end = scene.poll_after(100);
  CHECK(end.state == JobState::ended);
  CHECK(end.voids);
}

TEST_CASE("commands: after a crash the job is found by its name, not by its id") {
  Scene scene;
  scene.batch.list = answer(0, "9 hb.s.other.0 R\n8 hb.s.b.0 R\n");
  scene.executor.adopt(scene.folder, "9");
  CHECK(scene.poll_after(1).text == "R");
  scene.executor.cancel(scene.folder, "9");
  scene.executor.flush();
  CHECK(scene.batch.calls.back() == std::vector<std::string>{"del", "8"});
}

TEST_CASE("commands: a job that runs gets time to end its processes before it is killed") {
  Scene scene;
  scene.submit();
  scene.lists("R");
  scene.poll_after(1);
  scene.claim();
  scene.executor.cancel(scene.folder, "7");
  CHECK(read_file_if_there(scene.folder + "/cancel_requested"));
  scene.executor.flush();
  CHECK(scene.batch.calls.back().front() != "del");
  SUBCASE("it does") {
    write_file(scene.folder + "/finished.json", "{}", Durability::none);
    scene.poll_after(11);
    scene.executor.flush();
    CHECK(scene.batch.calls.back().front() != "del");
  }
  SUBCASE("it does not") {
    scene.clock.advance(11);
    scene.executor.flush();
    CHECK(scene.batch.calls.back() == std::vector<std::string>{"del", "7"});
  }
}

TEST_CASE("commands: what became of a job that is no longer listed") {
  Scene scene;
  scene.submit();
  scene.lists("R");
  scene.poll_after(1);
  scene.lists("");
  SUBCASE("it waits for finished.json, and is then lost") {
    scene.claim();
    CHECK(scene.poll_after(61).state == JobState::running);
    const JobStatus end = scene.poll_after(61);
    CHECK(end.state == JobState::ended);
    CHECK_FALSE(end.outcome);
    CHECK_FALSE(end.voids);
    CHECK(end.text.find("left no finished.json") != std::string::npos);
  }
  SUBCASE("its end is on record") {
    scene.claim();
    write_file(scene.folder + "/finished.json", "{}", Durability::none);
    CHECK(scene.poll_after(2).state == JobState::ended);
  }
  SUBCASE("it was asked to end") {
    scene.claim();
    scene.executor.cancel(scene.folder, "7");
    CHECK(scene.poll_after(2).outcome == State::cancelled);
  }
  SUBCASE("it left the queue before it began") {
    scene.poll_after(61);
    CHECK(scene.poll_after(61).unclaimed == State::cancelled);
  }
  SUBCASE("it began, and hpcbench did not") {
    write_file(scene.results + "/batches/b/0.out", "hpcbench: not found\n", Durability::none);
    scene.poll_after(61);
    const JobStatus end = scene.poll_after(61);
    CHECK(end.unclaimed == State::failed);
    CHECK(end.log == "0.out");
  }
}

TEST_CASE("commands: states that need the user are said once") {
  Scene scene;
  scene.submit();
  scene.lists("E");
  scene.poll_after(1);
  scene.poll_after(100);
  REQUIRE(scene.notes.size() == 1);
  CHECK(scene.notes.front().find("job 7 is in state E and will not begin by itself") == 0);
  CHECK(scene.executor.waiting() == "1 pending (1 E)");
  scene.lists("Z");
  CHECK(scene.poll_after(100).state == JobState::running);
  CHECK(scene.notes.back().find("state Z, which the site's `commands` lists nowhere") != std::string::npos);
}

}  // namespace hpcbench
