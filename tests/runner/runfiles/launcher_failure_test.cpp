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
