#include "runfiles/launcher_failure.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "base/files.hpp"
#include "base/text.hpp"
#include "fakes/temporary_folder.hpp"
#include "runfiles/job_files.hpp"

using namespace hpcbench;

namespace {

/// stderr of a real torchrun (LibTorch 2.13) or accelerate (1.15) whose rank 1 (accelerate: only process) failed.
std::string recorded(const std::string& name) {
  return read_file(std::string(HPCBENCH_SOURCE_DIR) + "/tests/golden/launchers/" + name + ".txt");
}

constexpr const char* kLoads =
    "Traceback (most recent call last):\n"
    "  File \"/study/plain.py\", line 6, in <module>\n"
    "    load()\n"
    "  File \"/study/plain.py\", line 4, in load\n"
    "    raise ValueError(\"no data in /data/train\")\n";

std::string with_prefix(const std::string& prefix, const std::string& text) {
  return prefix + join(split(text, '\n'), "\n" + prefix);
}

}  // namespace

TEST_CASE("torchrun: the traceback of the rank that failed first") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  CHECK(failure_below_launcher(recorded("torchrun-plain"), path) == std::string(kLoads) + "ValueError: no data in /data/train");
  CHECK(failure_below_launcher(recorded("torchrun-tee"), path) ==
        with_prefix("[default1]:", std::string(kLoads) + "ValueError: no data in /data/train"));
  // Rank 0 failed later, because rank 1 had gone.
  CHECK(failure_below_launcher(recorded("torchrun-prefixed"), path) ==
        with_prefix("[rank1]: ",
                    "Traceback (most recent call last):\n  File \"/study/init.py\", line 4, in <module>\n"
                    "    raise ValueError(\"no data in /data/train\")\nValueError: no data in /data/train"));
  const auto by_file = failure_below_launcher(recorded("torchrun-error-file"), path);
  REQUIRE(by_file.has_value());
  CHECK(by_file->starts_with("Traceback (most recent call last):\n  File \"/venv/"));
  CHECK(by_file->ends_with("    raise ValueError(\"no data in /data/train\")\nValueError: no data in /data/train"));
  CHECK(failure_below_launcher(recorded("torchrun-signal"), path) ==
        "torchrun's rank 1 failed: Signal 11 (SIGSEGV) received by PID 17795");
}

TEST_CASE("torchrun --log-dir: the traceback of the rank's own log") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  CHECK(failure_below_launcher(recorded("torchrun-redirected"), path) == "torchrun's rank 1 failed with exit code 1");
  for (const char* rank : {"0", "1"}) {
    const std::filesystem::path logs = folder.path() / "out/logs/none_x/attempt_0" / rank;
    std::filesystem::create_directories(logs);
    write_file(logs / "stderr.log", std::string(kLoads) + "ValueError: of rank " + rank + "\n", Durability::none);
  }
  CHECK(failure_below_launcher(recorded("torchrun-redirected"), path) == std::string(kLoads) + "ValueError: of rank 1");
}

TEST_CASE("accelerate: the program's traceback") {
  const std::string text = *failure_below_launcher(recorded("accelerate"), "");
  CHECK(text.find("Traceback (most recent call last):\n  File \"/study/acc.py\", line 3") != std::string::npos);
  CHECK(text.find("launch.py") == std::string::npos);
  CHECK(text.ends_with("\nValueError: no data in /data/train"));
}

TEST_CASE("chained exceptions are one failure, and its last one is the reason") {
  std::string chained = std::string(kLoads) +
                        "KeyError: 'x'\n\nDuring handling of the above exception, another exception occurred:\n\n" + kLoads +
                        "ValueError: second\n";
  const std::string own = chained.substr(0, chained.size() - 1);
  const std::string torchrun = recorded("torchrun-plain");
  chained += torchrun.substr(torchrun.find("W1128"));
  CHECK(failure_below_launcher(chained, "") == own);
}

TEST_CASE("output that does not end with a launcher's failure is left alone") {
  CHECK_FALSE(failure_below_launcher("", ""));
  CHECK_FALSE(failure_below_launcher(std::string(kLoads) + "ValueError: no data\n", ""));
  // A program that catches the failure of its own torchrun, then fails for another reason.
  CHECK_FALSE(failure_below_launcher(recorded("torchrun-plain") + kLoads + "ValueError: other\n", ""));
  // A program's own CalledProcessError.
  CHECK_FALSE(failure_below_launcher(std::string(kLoads) + "ValueError: x\n" + kLoads +
                                         "subprocess.CalledProcessError: Command '['a']' returned non-zero exit status 1.\n",
                                     ""));
  // Cut within the summary.
  const std::string torchrun = recorded("torchrun-plain");
  CHECK_FALSE(failure_below_launcher(torchrun.substr(0, torchrun.find("Root Cause")), ""));
}

TEST_CASE("the tail of an output that torchrun ended is the rank's traceback") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  write_file(folder / "stderr.log", recorded("torchrun-prefixed"), Durability::none);
  const std::string tail = *output_tail(path, 0);
  CHECK(tail.find("RuntimeError") == std::string::npos);
  CHECK(tail.ends_with("\n[rank1]: ValueError: no data in /data/train"));
}

namespace {

constexpr const char* kRule = "--------------------------------------------------------------------------\n";

/// The end of a program's standard error below a real mpirun (Open MPI 4.1.4).
std::string below_mpirun(const std::string& own, const std::string& box) {
  return own + kRule +
         "Primary job  terminated normally, but 1 process returned\n"
         "a non-zero exit code. Per user-direction, the job has been aborted.\n" +
         kRule + kRule + box + kRule;
}

const std::string kExitBox =
    "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
    "the job to be terminated. The first process to do so was:\n\n"
    "  Process name: [[13998,1],1]\n  Exit code:    3\n";

}  // namespace

TEST_CASE("Open MPI: the line of the rank that failed") {
  const auto failed = failure_below_mpi(below_mpirun("step 1\nERROR: cannot open input.dat\n", kExitBox));
  REQUIRE(failed.has_value());
  CHECK(failed->own == "step 1\nERROR: cannot open input.dat");
  CHECK(failed->launcher ==
        "mpirun detected that one or more processes exited with non-zero status, thus causing the job to be terminated. The "
        "first process to do so was:; Process name: [[13998,1],1]; Exit code: 3");
  CHECK(!failed->by_signal);
  // Version 5.
  const std::string prterun = "prterun detected that one or more processes exited with non-zero status,\nthus causing it\n";
  CHECK(failure_below_mpi("cause\n" + std::string(kRule) + prterun + kRule)->own == "cause");
  // A rank's own table is no box of the launcher.
  CHECK(failure_below_mpi(below_mpirun(std::string(kRule) + "n  time\n" + kRule + "cause\n", kExitBox))->own ==
        std::string(kRule) + "n  time\n" + kRule + "cause");
  CHECK(!failure_below_mpi(below_mpirun("", kExitBox) + "the program continues\n").has_value());
  CHECK(!failure_below_mpi("mpirun is great\n").has_value());
}

TEST_CASE("Open MPI: a rank that died by a signal, aborted, or could not be started") {
  const std::string noticed = "mpirun noticed that process rank 1 with PID 9 on node vm exited on signal ";
  const auto crashed = failure_below_mpi(below_mpirun("warning: slow\n", noticed + "11 (Segmentation fault).\n"));
  CHECK(crashed->by_signal);
  CHECK(crashed->launcher == noticed + "11 (Segmentation fault).");
  const auto asserted = failure_below_mpi(below_mpirun("Assertion `n > 0' failed.\n", noticed + "6 (Aborted).\n"));
  CHECK(!asserted->by_signal);
  CHECK(asserted->own == "Assertion `n > 0' failed.");
  const std::string abort =
      std::string(kRule) +
      "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 7.\n\nNOTE: invoking MPI_ABORT causes "
      "Open MPI to kill all MPI processes.\nYou may or may not see output\n" +
      kRule;
  CHECK(failure_below_mpi("solver: residual is NaN\n" + abort)->own == "solver: residual is NaN");
  CHECK(failure_below_mpi(abort)->launcher ==
        "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD with errorcode 7.");
  const std::string library =
      "[vm:123] *** An error occurred in MPI_Send\n[vm:123] *** reported by process [1,0]\n"
      "[vm:123] *** on communicator MPI_COMM_WORLD\n[vm:123] *** MPI_ERR_RANK: invalid rank\n"
      "[vm:123] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,\n"
      "[vm:123] ***    and potentially your MPI job)\n";
  CHECK(failure_below_mpi(library)->own.ends_with("[vm:123] *** MPI_ERR_RANK: invalid rank"));
  const std::string missing = std::string(kRule) +
                              "mpirun was unable to launch the specified application as it could not access\n"
                              "or execute an executable:\n\nExecutable: ./a.out\nNode: vm\n\nwhile attempting\n" +
                              kRule;
  CHECK(failure_below_mpi(missing)->launcher ==
        "mpirun was unable to launch the specified application as it could not access or execute an executable:; Executable: "
        "./a.out; Node: vm");
}

TEST_CASE("MPICH and srun: the line of the rank that failed") {
  const std::string rule(83, '=');
  const std::string hydra =
      rule +
      "\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 17 RUNNING AT n1\n=   EXIT CODE: 3\n"
      "=   CLEANING UP REMAINING PROCESSES\n=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n" +
      rule + "\n";
  CHECK(failure_below_mpi("cannot open input.dat\n" + hydra)->own == "cannot open input.dat");
  CHECK(failure_below_mpi(hydra)->launcher ==
        "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES; PID 17 RUNNING AT n1; EXIT CODE: 3");
  const auto crashed = failure_below_mpi(
      "warning\n" + hydra + "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)\n" +
      "This typically refers to a problem with your application.\nPlease see the FAQ page for debugging suggestions\n");
  CHECK(crashed->by_signal);
  CHECK(crashed->launcher == "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)");
  CHECK(failure_below_mpi(
            "residual is NaN\nAbort(7) on node 1 (rank 1 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 7) "
            "- process 1\n")
            ->own == "residual is NaN");
  CHECK(failure_below_mpi("cause\nsrun: error: n1: task 1: Exited with exit code 3\nsrun: Terminating StepId=12.0\n")->own ==
        "cause");
}

TEST_CASE("the last words of a job below mpirun") {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  write_file(folder.path() / "run.json", "{}", Durability::none);
  write_file(folder.path() / "stderr.log", below_mpirun("", kExitBox), Durability::none);
  CHECK(output_tail(path, 0)->ends_with("Exit code: 3"));
  write_file(folder.path() / "stdout.log", "ERROR STOP: no input\n", Durability::none);
  CHECK(output_tail(path, 0) == "ERROR STOP: no input");
  write_file(folder.path() / "stderr.log", below_mpirun(std::string(kLoads) + "ValueError: no data\n", kExitBox),
             Durability::none);
  CHECK(output_tail(path, 0) == std::string(kLoads) + "ValueError: no data");
}
