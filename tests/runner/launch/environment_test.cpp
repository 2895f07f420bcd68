#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "base/text.hpp"
#include "fakes/temporary_folder.hpp"
#include "job_folder.hpp"
#include "launch/free_port.hpp"
#include "launch/rank_environment.hpp"
#include "launch/slurm_job.hpp"

using namespace hpcbench;

namespace {

std::map<std::string, std::string> environment_of(const std::string& output) {
  std::map<std::string, std::string> variables;
  for (const std::string& line : split(output, '\n')) {
    if (const std::size_t sign = line.find('='); sign != std::string::npos)
      variables[line.substr(0, sign)] = line.substr(sign + 1);
  }
  return variables;
}

constexpr const char* kRankLine =
    "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $GROUP_RANK $MASTER_ADDR $OMP_NUM_THREADS; echo "
    "$MASTER_PORT >&2";

}  // namespace

TEST_CASE("what apptainer gets by names of its own") {
  const EnvironmentChanges changes =
      apptainer_variables({"RANK=1", "LEVEL=a \"b\" c=d", "PRICE=5$", "OTHER=x", "SLURM_JOB_ID=7", "CUDA_VISIBLE_DEVICES=0,1",
                           "OMP_NUM_THREADS=4", "APPTAINERENV_OMP_NUM_THREADS=2", "malformed"},
                          {"LEVEL", "PRICE", "AWAY"});
  const EnvironmentChanges expected = {{"APPTAINERENV_RANK", "1"},
                                       {"APPTAINERENV_LEVEL", "a \"b\" c=d"},
                                       {"APPTAINERENV_SLURM_JOB_ID", "7"},
                                       {"APPTAINERENV_CUDA_VISIBLE_DEVICES", "0,1"}};
  CHECK(changes == expected);
}

TEST_CASE("a step in squeue's list has the name of its element, or of its job") {
  const SlurmJobFacts job{.name = "12_3", .node = "n0", .nodes = "n0"};
  const std::string listed = read_file(HPCBENCH_SOURCE_DIR "/tests/slurm/fixtures/24.11-steps.squeue.out");
  CHECK(lists_step(listed, {.name = "1_3", .node = "n0", .nodes = "n0"}, "6.0"));
  CHECK(lists_step("12_3.batch\n12_3.0\n", job, "15.0"));
  CHECK(lists_step("15.0\n", job, "15.0"));
  CHECK_FALSE(lists_step("12_3.batch\n12_3.10\n12_2.0\n", job, "15.0"));
  CHECK_FALSE(lists_step("", job, "15.0"));
}

TEST_CASE("the environment of one rank") {
  ::setenv("HPCBENCH_TOKEN", "secret", 1);
  ::setenv("LAUNCH_TEST_KEPT", "as it was", 1);
  ::setenv("RANK", "17", 1);  // stale: of a job around this one
  const JobFolder job({"env"}, {{"resources", {{"cpus_per_task", 3}}}});
  const nlohmann::json finished = job.finish();
  ::unsetenv("HPCBENCH_TOKEN");
  ::unsetenv("LAUNCH_TEST_KEPT");
  ::unsetenv("RANK");
  REQUIRE(finished["exit_code"] == 0);
  auto variables = environment_of(job.text("stdout.log"));
  CHECK(variables["HPCBENCH_RUN"] == job / "run.json");
  CHECK(variables["RANK"] == "0");
  CHECK(variables["WORLD_SIZE"] == "1");
  CHECK(variables["LOCAL_RANK"] == "0");
  CHECK(variables["LOCAL_WORLD_SIZE"] == "1");
  CHECK(variables["NODE_RANK"] == "0");
  CHECK(variables["GROUP_RANK"] == "0");
  CHECK(variables["MASTER_ADDR"] == "127.0.0.1");
  CHECK(variables["MASTER_PORT"] == std::to_string(job.json("started.json")["master_port"].get<int>()));
  CHECK(variables["OMP_NUM_THREADS"] == "3");
  CHECK(variables["LAUNCH_TEST_KEPT"] == "as it was");
  CHECK_FALSE(variables.contains("HPCBENCH_TOKEN"));
}

TEST_CASE("tools that a job asks see nothing that changes their answers") {
  const TemporaryFolder folder;
  write_file(folder / "nvidia-smi", "#!/bin/sh\necho ${SLURM_JOB_ID-none} ${SLURM_CONF-none} $LC_ALL\n", Durability::none);
  std::filesystem::permissions(folder / "nvidia-smi", std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (folder / "" + ":" + path).c_str(), 1);
  ::setenv("SLURM_JOB_ID", "7", 1);
  ::setenv("SLURM_CONF", "/etc/here", 1);
  const std::optional<std::string> gpus = list_gpus();
  ::unsetenv("SLURM_CONF");
  ::unsetenv("SLURM_JOB_ID");
  ::setenv("PATH", path.c_str(), 1);
  CHECK(gpus == "none /etc/here C.UTF-8");
}

TEST_CASE("three ranks on one node") {
  const JobFolder job = bash_job(kRankLine, 3);
  REQUIRE(job.finish()["exit_code"] == 0);
  CHECK(job.text("stdout.log") == "0 3 0 3 0 0 127.0.0.1 1\n");
  CHECK(job.text("stdout.1.log") == "1 3 1 3 0 0 127.0.0.1 1\n");
  CHECK(job.text("stdout.2.log") == "2 3 2 3 0 0 127.0.0.1 1\n");
  CHECK(job.text("stderr.log") == job.text("stderr.2.log"));
}

TEST_CASE("two nodes of two ranks, all on this host") {
  const JobFolder job = bash_job(kRankLine, 4, {{"nodes", 2}});
  REQUIRE(job.finish()["exit_code"] == 0);
  CHECK(job.text("stdout.log") == "0 4 0 2 0 0 127.0.0.1 1\n");
  CHECK(job.text("stdout.1.log") == "1 4 1 2 0 0 127.0.0.1 1\n");
  CHECK(job.text("stdout.2.log") == "2 4 0 2 1 1 127.0.0.1 1\n");
  CHECK(job.text("stdout.3.log") == "3 4 1 2 1 1 127.0.0.1 1\n");
}

TEST_CASE("processes per node") {
  CHECK(processes_per_node(4, 2) == 2);
  CHECK(processes_per_node(1, 2) == 1);  // launch: once
  CHECK(processes_per_node(2, 2) == 1);  // launch: node
  CHECK(processes_per_node(3, 1) == 3);
}

TEST_CASE("a set-up line may change the environment") {
  const JobFolder job = bash_job("echo $OMP_NUM_THREADS", 1, {{"setup", {"export OMP_NUM_THREADS=7"}}});
  REQUIRE(job.finish()["exit_code"] == 0);
  CHECK(job.text("stdout.log") == "7\n");
}

TEST_CASE("stdin is empty, no descriptor of ours arrives, and signals are as usual") {
  const JobFolder job = bash_job("cat; ls /proc/self/fd; grep -E '^Sig(Blk|Ign)' /proc/self/status");
  const int leaked = ::dup(STDIN_FILENO);  // without CLOEXEC
  ::signal(SIGPIPE, SIG_IGN);
  const nlohmann::json finished = job.finish();
  ::signal(SIGPIPE, SIG_DFL);
  ::close(leaked);
  CHECK(finished["exit_code"] == 0);
  // 3 is what ls itself opened.
  CHECK(job.text("stdout.log") == "0\n1\n2\n3\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_CASE("free ports are none that the kernel gives to connections") {
  const int port = find_free_port().number();
  CHECK(port >= 1024);
  CHECK(port < 32768);
}

TEST_CASE("nobody draws a port whose owner does not listen yet") {
  constexpr int kDrawn = 600;  // of 17,000: were they not kept, about ten would be drawn twice
  std::vector<FreePort> held;
  std::set<int> numbers;
  for (int i = 0; i < kDrawn; ++i) numbers.insert(held.emplace_back(find_free_port()).number());
  CHECK(numbers.size() == kDrawn);
  const pid_t other = ::fork();
  if (other == 0) {  // of the ports that this process holds
    int met = 0;
    for (int i = 0; i < kDrawn; ++i) met += numbers.contains(find_free_port().number()) ? 1 : 0;
    ::_exit(met == 0 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(other, &status, 0) == other);
  CHECK(status == 0);
}
