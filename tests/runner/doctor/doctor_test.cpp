#include "doctor/doctor.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <filesystem>

#include "base/files.hpp"
#include "base/process.hpp"
#include "doctor/doctor_machine.hpp"
#include "doctor/doctor_quota.hpp"
#include "doctor/doctor_slurm_facts.hpp"
#include "executors/slurm/slurm_limits.hpp"
#include "fakes/temporary_folder.hpp"

namespace hpcbench {

TEST_CASE("partitions are read from one line each") {
  const auto partitions = parse_partitions(
      "PartitionName=main AllowGroups=ALL Default=YES DefaultTime=01:00:00 MaxNodes=UNLIMITED MaxTime=UNLIMITED State=UP "
      "TotalNodes=4\nPartitionName=short Default=NO DefaultTime=00:01:00 MaxNodes=2 MaxTime=1-00:05:00 State=DOWN "
      "TotalNodes=3\n"
      "no partition\n");
  REQUIRE(partitions.size() == 2);
  CHECK(partitions[0].is_default);
  CHECK(!partitions[0].max_time_s);
  CHECK(!partitions[0].max_nodes);
  CHECK(partitions[0].nodes == 4);
  CHECK(partitions[1].name == "short");
  CHECK(!partitions[1].is_default);
  CHECK(partitions[1].max_time_s == 86700);
  CHECK(partitions[1].max_nodes == 2);
  CHECK(partitions[1].state == "DOWN");
}

TEST_CASE("GPUs are counted by type and without their sockets") {
  CHECK(count_gpus("gpu:a100:2(S:0-1)", "") == 2);
  CHECK(count_gpus("gpu:a100:2(S:0,1),gpu:h100:4,nvme:1", "h100") == 4);
  CHECK(count_gpus("gpu:8", "") == 8);
  CHECK(count_gpus("gpu:8", "a100") == 0);
  CHECK(count_gpus("(null)", "") == 0);
}

TEST_CASE("nodes that take no jobs are told apart") {
  const auto nodes = parse_nodes(
      "n0|idle|8|gpu:a100:2\nn1|mixed|8|gpu:a100:2\nn2|down*|8|gpu:a100:2\nn3|drained|8|(null)\nn4|idle~|8|gpu:1\nbad line\n",
      "");
  REQUIRE(nodes.size() == 5);
  CHECK(nodes[0].takes_jobs);
  CHECK(nodes[0].gpus == 2);
  CHECK(nodes[0].types == std::vector<std::string>{"a100"});
  CHECK(nodes[1].takes_jobs);
  CHECK(!nodes[2].takes_jobs);
  CHECK(!nodes[3].takes_jobs);
  CHECK(nodes[3].gpus == 0);
  CHECK(nodes[4].takes_jobs);
}

TEST_CASE("any text is read without harm") {
  CHECK(rc::check("partitions and nodes of any text", [](const std::string& text) {
    parse_partitions(text);
    parse_nodes(text, "a100");
    RC_ASSERT(count_gpus(text, "") >= 0);
  }));
}

TEST_CASE("logind says whether a logout ends processes") {
  const TemporaryFolder root;
  const std::string at = root.path().string();
  const auto write = [&](const std::string& name, const std::string& text) {
    make_folders(std::filesystem::path(at + name).parent_path());
    write_file(at + name, text, Durability::none);
  };
  CHECK(!logout_ends_processes(at, "ada"));  // no systemd
  make_folders(at + "/run/systemd/system");
  CHECK(!logout_ends_processes(at, "ada"));  // its default
  write("/etc/systemd/logind.conf", "[Login]\n#KillUserProcesses=no\n");
  write("/etc/systemd/logind.conf.d/10-site.conf", "[Login]\nKillUserProcesses = yes\n");
  CHECK(logout_ends_processes(at, "ada"));
  CHECK(!logout_ends_processes(at, "root"));  // excluded unless said otherwise
  write("/var/lib/systemd/linger/ada", "");
  CHECK(!logout_ends_processes(at, "ada"));
  CHECK(logout_ends_processes(at, "bob"));
  write("/etc/systemd/logind.conf.d/20-local.conf", "KillExcludeUsers=root bob\n");
  CHECK(!logout_ends_processes(at, "bob"));
}

TEST_CASE("a finding is a line that ends with what to do") {
  CHECK(findings_text({{Finding::Kind::fine, "all is well", ""},
                       {Finding::Kind::problem, "no sbatch", "load its module"},
                       {Finding::Kind::warning, "old", "`run` it"}}) ==
        "ok       all is well\nproblem  no sbatch. Load its module.\nwarning  old. `run` it.\n");
}

TEST_CASE("the nearest folder that exists, and programs on PATH") {
  const TemporaryFolder folder;
  CHECK(existing_folder(folder / "a/b/c") == folder.path().string());
  CHECK(find_program("bash").has_value());
  CHECK(!find_program("no-such-program-anywhere").has_value());
  CHECK(!find_program(folder / "none").has_value());
}

TEST_CASE("quotas are read from what quota and lfs print") {
  const std::string quota =
      "Disk quotas for user alice (uid 1000): \n"
      "     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace\n"
      "server:/home  123456*  100000  200000  1763650000   5000   0   12000   0\n"
      "/dev/sda1  10  0  0  0  1  0  0  0\n";
  const auto home = parse_quota(quota, "server:/home");
  REQUIRE(home.has_value());
  CHECK(home->used_bytes == 123456 * 1024.0);
  CHECK(home->limit_bytes == 100000 * 1024.0);
  CHECK(home->used_files == 5000);
  CHECK(home->limit_files == 12000);
  CHECK_FALSE(parse_quota(quota, "/dev/sda1")->limit_files.has_value());
  CHECK_FALSE(parse_quota(quota, "/dev/sdb1").has_value());
  CHECK_FALSE(parse_quota("Disk quotas for user alice (uid 1000): none\n", "/dev/sda1").has_value());

  const auto lustre = parse_lustre_quota("/mnt/a long name/of a folder\n      [2048]*  0  4096  -  7*  5  9  6d\n");
  REQUIRE(lustre.has_value());
  CHECK(lustre->used_bytes == 2048 * 1024.0);
  CHECK(lustre->limit_bytes == 4096 * 1024.0);
  CHECK(lustre->limit_files == 5);
  CHECK_FALSE(parse_lustre_quota("lfs quota: cannot resolve path: Inappropriate ioctl for device").has_value());
  CHECK(rc::check("any bytes", [](const std::string& text) {
    parse_quota(text, text);
    parse_lustre_quota(text);
    parse_backends(text);
    mount_source(text, text);
  }));
}

TEST_CASE("the mount that holds a folder is the longest one, and of two on one point the later") {
  const std::string mounts =
      "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
      "30 22 0:40 / /home rw shared:5 master:2 - nfs4 server:/old rw,vers=4.2\n"
      "31 30 0:41 / /home rw - nfs4 server:/home rw\n"
      "32 22 0:42 / /scratch\\040one rw - lustre mds@tcp:/one rw\n";
  CHECK(mount_source(mounts, "/home/alice") == "server:/home");
  CHECK(mount_source(mounts, "/homeless") == "/dev/sda1");
  CHECK(mount_source(mounts, "/scratch one/x") == "mds@tcp:/one");
  CHECK(mount_source("", "/home").empty());
}

TEST_CASE("the trainer's backends are those that its version names") {
  CHECK(parse_backends("hpcbench-train 0.3.0 (LibTorch 2.13.0, Gloo, NCCL)\n") == std::vector<std::string>{"Gloo", "NCCL"});
  CHECK(parse_backends("hpcbench-train 0.3.0 (LibTorch 2.13.0, Gloo)") == std::vector<std::string>{"Gloo"});
  CHECK(parse_backends("hpcbench-train 0.3.0 (LibTorch 2.13.0)").empty());
  CHECK(parse_backends("").empty());
}

}  // namespace hpcbench
