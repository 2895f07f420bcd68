#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/host.hpp"
#include "rendering.hpp"

using namespace hpcbench;

namespace {

nlohmann::json json_file(const std::string& path) { return nlohmann::json::parse(read_file(path)); }

/// The value of a line `key value` of an attempt's claim; empty if there is none.
std::string claim_value(const std::string& attempt_folder, const std::string& key) {
  for (const std::string& line : split(read_file(attempt_folder + "/claim"), '\n')) {
    if (line.starts_with(key + ' ')) return line.substr(key.size() + 1);
  }
  return "";
}

}  // namespace

TEST_CASE("by hand: claims nothing, touches nothing, writes to a new folder manual-TIME") {
  const RenderedFolder folder;
  Experiment experiment = command_experiment({"bash", "-c",
                                              "echo out; echo err >&2; echo \"$HPCBENCH_RUN\"; pwd; echo '{}' "
                                              ">\"$HPCBENCH_RUN_DIR/events.jsonl\"; echo \"$1\"",
                                              "x", "{{run_dir}}/there"});
  experiment.workdir = "attempt";
  const RenderedAttempt attempt = folder.write(experiment);
  CHECK(folder.run(attempt, "") == 0);
  CHECK(names_in(attempt.folder) == std::vector<std::string>{"job.sh", "run.json"});
  const std::string manual = folder.manual_folder();
  CHECK(read_file(manual + "/run.json") == attempt.run_json);
  CHECK(read_file(manual + "/stdout.log") == "out\n" + manual + "/run.json\n" + manual + "/out\n" + manual + "/out/there\n");
  CHECK(read_file(manual + "/stderr.log") == "err\n");
  CHECK(names_in(manual) == std::vector<std::string>{"out", "run.json", "stderr.log", "stdout.log"});
  CHECK(names_in(manual + "/out") == std::vector<std::string>{"events.jsonl"});
  CHECK(folder.run(attempt, "") == 0);
  CHECK(names_in(folder.context.call_folder).size() == 2);
}

TEST_CASE("with a token: claims, runs, writes finished.json; a second start does nothing") {
  const RenderedFolder folder;
  const RenderedAttempt attempt =
      folder.write(command_experiment({"bash", "-c", "echo \"${HPCBENCH_TOKEN-unset}\"; pwd; exit 3"}));
  CHECK(folder.run(attempt, "some token") == 3);
  CHECK(claim_value(attempt.folder, "token") == "some token");
  CHECK(claim_value(attempt.folder, "host") == host_name());
  CHECK(claim_value(attempt.folder, "boot_id") == boot_id());
  const std::string pid = claim_value(attempt.folder, "pid");
  CHECK(claim_value(attempt.folder, "job") == pid);
  CHECK(std::stoull(claim_value(attempt.folder, "start_ticks")) > 0);
  CHECK(read_file(attempt.folder + "/stdout.log") == "unset\n" + folder.context.call_folder + '\n');

  const auto started = json_file(attempt.folder + "/started.json");
  CHECK(started["host"] == host_name());
  CHECK(started["pid"] == std::stoi(pid));
  CHECK(started["monotonic_s"].is_number());
  CHECK(started["master_port"].get<int>() > 0);
  const auto finished = json_file(attempt.folder + "/finished.json");
  CHECK(finished["schema"] == 1);
  CHECK(finished["exit_code"] == 3);
  CHECK(finished["signal"].is_null());
  CHECK(finished["first_failed_rank"] == 0);
  CHECK(finished["wall_s"].is_number());
  CHECK(finished["timed_out"] == false);
  CHECK(finished["cancelled"] == false);

  const std::vector<std::string> names = names_in(attempt.folder);
  CHECK(names == std::vector<std::string>{"alive", "claim", "finished.json", "job.sh", "out", "run.json", "started.json",
                                          "stderr.log", "stdout.log"});
  const std::string before = read_file(attempt.folder + "/finished.json");
  CHECK(folder.run(attempt, "other") == 0);
  CHECK(names_in(attempt.folder) == names);
  CHECK(read_file(attempt.folder + "/finished.json") == before);
  CHECK(claim_value(attempt.folder, "token") == "some token");
}

TEST_CASE("of many starts at once one runs") {
  const RenderedFolder folder;
  const RenderedAttempt attempt = folder.write(command_experiment({"bash", "-c", "echo ran >>runs"}));
  const std::string job = shell_quote(folder.context.hpcbench) + " launch " + shell_quote(attempt.folder);
  const std::string all = "cd " + shell_quote(folder.context.call_folder) +
                          "; for i in 1 2 3 4 5 6 7 8; do HPCBENCH_TOKEN=t$i " + job + " & done; wait";
  CHECK(std::system(all.c_str()) == 0);
  CHECK(read_file(folder.context.call_folder + "/runs") == "ran\n");
}

TEST_CASE("a revoked attempt does not run") {
  const RenderedFolder folder;
  const RenderedAttempt attempt = folder.write(command_experiment({"true"}));
  REQUIRE(create_exclusively(attempt.folder + "/claim", "revoked test\n"));
  CHECK(folder.run(attempt, "t") == 0);
  CHECK(names_in(attempt.folder) == std::vector<std::string>{"claim", "job.sh", "run.json"});
}

TEST_CASE("ranks get the environment of docs/run-directory.md") {
  const RenderedFolder folder;
  Experiment experiment = command_experiment(
      {"bash", "-c",
       "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $GROUP_RANK $MASTER_ADDR $OMP_NUM_THREADS $X"},
      2);
  experiment.matrix.push_back(plain_axis("nodes", {"2"}));
  experiment.work.resources.cpus_per_task = 3;
  experiment.work.parameters = {{"x", Value::from_text("a  b")}};
  experiment.work.setup = {"export X={{x}}", "X=${X/a/c}"};
  const RenderedAttempt attempt = folder.write(experiment);
  CHECK(folder.run(attempt, "t") == 0);
  CHECK(read_file(attempt.folder + "/stdout.log") == "0 4 0 2 0 0 127.0.0.1 3 c b\n");
  CHECK(read_file(attempt.folder + "/stdout.1.log") == "1 4 1 2 0 0 127.0.0.1 3 c b\n");
  CHECK(read_file(attempt.folder + "/stdout.3.log") == "3 4 1 2 1 1 127.0.0.1 3 c b\n");
}

TEST_CASE("a rank that fails takes the others and their children down") {
  const RenderedFolder folder;
  const RenderedAttempt attempt = folder.write(
      command_experiment({"bash", "-c", "if [ $RANK = 1 ]; then sleep 0.2; exit 7; fi; sleep 300 & echo $! >child; wait"}, 2));
  CHECK(folder.run(attempt, "t") == 7);
  const auto finished = json_file(attempt.folder + "/finished.json");
  CHECK(finished["exit_code"] == 7);
  CHECK(finished["first_failed_rank"] == 1);
  CHECK_FALSE(identify_process(std::stoi(read_file(folder.context.call_folder + "/child"))));
}

TEST_CASE("a signal that ends a rank is told from an exit code") {
  const RenderedFolder folder;
  const RenderedAttempt attempt = folder.write(command_experiment({"bash", "-c", "kill -9 $$"}));
  CHECK(folder.run(attempt, "t") == 137);
  const auto finished = json_file(attempt.folder + "/finished.json");
  CHECK(finished["exit_code"].is_null());
  CHECK(finished["signal"] == 9);
}

TEST_CASE("a program that is missing, a set-up that ends the job, a good exit code other than 0") {
  const RenderedFolder folder;
  CHECK(folder.run(folder.write(command_experiment({"no-such-program"})), "t") == 127);
  Experiment stopped = command_experiment({"touch", "ran"});
  stopped.work.setup = {"exit 5"};
  CHECK(folder.run(folder.write(stopped), "t") == 5);
  CHECK_FALSE(std::filesystem::exists(folder.context.call_folder + "/ran"));
  Experiment good = command_experiment({"bash", "-c", "exit 4"});
  good.work.success.exit_code = 4;
  const RenderedAttempt attempt = folder.write(good);
  CHECK(folder.run(attempt, "t") == 0);
  CHECK(json_file(attempt.folder + "/finished.json")["exit_code"] == 4);
}

TEST_CASE("set-up and modules run once, in a job and by hand, and every rank starts with what they leave") {
  const RenderedFolder folder;
  const std::string log = folder.folder / "lines";
  const std::string module = folder.folder / "bin/module";
  make_folders(folder.folder / "bin");
  write_file(module, "#!/bin/sh\necho $* >>" + log + "\n", Durability::none);
  std::filesystem::permissions(module, std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (folder.folder / "bin:" + path).c_str(), 1);
  Experiment experiment = command_experiment({"bash", "-c", "echo \"$RANK $X $Y $(umask) ${PWD##*/}\""}, 3);
  std::string y = "";
  SUBCASE("a list") {}
  SUBCASE("a shell's text") {
    experiment.work.shell = true;
    experiment.work.command = {"echo \"$RANK $X $Y $(umask) ${PWD##*/}\""};
    y = "y";
  }
  experiment.work.modules = {"cuda"};
  experiment.work.setup = {"echo line >>" + log, "echo said; echo noted >&2", "export X=x; Y=y",
                           "set -e; umask 0027", "mkdir -p sub; cd sub",      "sleep 1000 & echo $! >>" + log + ".left"};
  const RenderedAttempt attempt = folder.write(experiment);
  CHECK(folder.run(attempt, "t") == 0);
  CHECK(folder.run(attempt, "") == 0);
  ::setenv("PATH", path.c_str(), 1);
  CHECK(read_file(log) == "load cuda\nline\nload cuda\nline\n");
  for (const std::string& place : {attempt.folder, folder.manual_folder()}) {
    // By hand modules and setup speak to the terminal.
    const bool by_hand = place != attempt.folder;
    CHECK(read_file(place + "/stdout.log") == std::string(by_hand ? "" : "said\n") + "0 x " + y + " 0027 sub\n");
    CHECK(read_file(place + "/stdout.2.log") == "2 x " + y + " 0027 sub\n");
    CHECK(read_file(place + "/stderr.log") == (by_hand ? "" : "noted\n"));
  }
  for (const std::string& pid : split(read_file(log + ".left"), '\n')) {
    if (!pid.empty()) CHECK_FALSE(identify_process(std::stoi(pid)));
  }
}

TEST_CASE("a job that calls `module` where no shell defined it takes Lmod's own init file, or says what is missing") {
  const RenderedFolder folder;
  make_folders(folder.folder / "lmod/init");
  ::setenv("LMOD_PKG", (folder.folder / "lmod").c_str(), 1);
  Experiment experiment = command_experiment({"bash", "-c", "echo \"$LOADED $OMP_NUM_THREADS\""});
  SUBCASE("of `modules`") { experiment.work.modules = {"cuda"}; }
  SUBCASE("of `setup`") { experiment.work.setup = {"module load cuda"}; }
  experiment.work.resources.cpus_per_task = 4;
  experiment.work.setup.emplace_back("OMP_NUM_THREADS=$((OMP_NUM_THREADS / 2))");
  for (const std::string& token : {std::string("t"), std::string()}) {
    write_file(folder.folder / "lmod/init/bash", "module() { export LOADED=$2; }\n", Durability::none);
    RenderedAttempt attempt = folder.write(experiment);
    CHECK(folder.run(attempt, token) == 0);
    const std::string place = token.empty() ? folder.manual_folder() : attempt.folder;
    CHECK(read_file(place + "/stdout.log") == "cuda 2\n");
  }
  ::setenv("LMOD_PKG", "/nowhere", 1);
  ::unsetenv("MODULESHOME");
  const RenderedAttempt attempt = folder.write(experiment);
  std::filesystem::remove(attempt.folder + "/claim");
  std::filesystem::remove(attempt.folder + "/finished.json");
  const bool has_modules =
      std::system("bash -c 'for f in /etc/profile.d/{lmod,z00_lmod,modules}.sh; do [ -r $f ] && exit 0; done; exit 1'") == 0;
  if (!has_modules && !experiment.work.modules.empty()) {
    CHECK(folder.run(attempt, "t2") == 1);
    CHECK(read_file(attempt.folder + "/stderr.log").find("module load cuda: no init file of Lmod") != std::string::npos);
  }
  ::unsetenv("LMOD_PKG");
}

TEST_CASE("set-up that fails, leaves early or takes too long starts no rank, and none is blamed") {
  const RenderedFolder folder;
  Experiment experiment = command_experiment({"touch", "ran"}, 2);
  int status = 0;
  SUBCASE("fails") {
    experiment.work.setup = {"echo why >&2", "exit 9"};
    status = 9;
  }
  SUBCASE("leaves early") {
    experiment.work.setup = {"exit 0"};
    status = 1;
  }
  SUBCASE("leaves with the program's good exit code") {
    experiment.work.setup = {"exit 4"};
    experiment.work.success.exit_code = 4;
    status = 1;
  }
  SUBCASE("takes too long") {
    experiment.work.setup = {"sleep 300"};
    experiment.work.resources.time_s = 1;
    status = 124;
  }
  SUBCASE("is cancelled") {
    experiment.work.setup = {"kill $(sed -n 's/^pid //p' \"${HPCBENCH_RUN%/*}/claim\"); sleep 300"};
    status = 143;
  }
  const RenderedAttempt attempt = folder.write(experiment);
  CHECK(folder.run(attempt, "t") == status);
  const auto finished = json_file(attempt.folder + "/finished.json");
  CHECK_FALSE(finished.contains("first_failed_rank"));
  CHECK(finished["timed_out"] == (status == 124));
  CHECK(finished.contains("error") == (status == 124));
  CHECK(finished["cancelled"] == (status == 143));
  if (status < 100) CHECK(finished["exit_code"] == status);
  if (status == 1)
    CHECK(read_file(attempt.folder + "/stderr.log").find("setup ended before the program was started") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.context.call_folder + "/ran"));
}

TEST_CASE("a time limit ends the ranks of a job, not of a run by hand") {
  const RenderedFolder folder;
  Experiment experiment = command_experiment({"sleep", "300"});
  experiment.work.resources.time_s = 1;
  const RenderedAttempt attempt = folder.write(experiment);
  CHECK(folder.run(attempt, "t") == 124);
  const auto finished = json_file(attempt.folder + "/finished.json");
  CHECK(finished["timed_out"] == true);
  CHECK(finished["time_limit_s"] == 1);
  CHECK(finished["signal"] == 15);
}

TEST_CASE("SIGTERM to the job ends its ranks and is recorded") {
  const RenderedFolder folder;
  const RenderedAttempt attempt =
      folder.write(command_experiment({"bash", "-c", "kill $(sed -n 's/^pid //p' \"${HPCBENCH_RUN%/*}/claim\"); sleep 300"}));
  CHECK(folder.run(attempt, "t") == 143);
  CHECK(json_file(attempt.folder + "/finished.json")["cancelled"] == true);
}

TEST_CASE("a rank that fails by hand gives its exit code, and ends the others") {
  const RenderedFolder folder;
  const RenderedAttempt attempt =
      folder.write(command_experiment({"bash", "-c",
                                       "if [ $RANK = 1 ]; then until [ -s \"${HPCBENCH_RUN%/*}/stdout.log\" ]; do sleep 0.05; "
                                       "done; exit 7; fi; echo $WORLD_SIZE; sleep 300"},
                                      2));
  CHECK(folder.run(attempt, "") == 7);
  CHECK(read_file(folder.manual_folder() + "/stdout.log") == "2\n");
  CHECK(names_in(attempt.folder) == std::vector<std::string>{"job.sh", "run.json"});
}

TEST_CASE("a template of a site's own must leave the claim to hpcbench launch and start ranks") {
  RenderedFolder folder;
  folder.context.job_template_name = "mine.mustache";
  folder.context.job_template = "exec {{hpcbench}} rank -n 1 -- {{#argv}}{{{.}}} {{/argv}}\n";
  CHECK(folder.write(command_experiment({"true", "x y"})).job_sh ==
        "exec " + shell_quote(folder.context.hpcbench) + " rank -n 1 -- true 'x y' \n");
  // On this machine one process alone would be started, whatever the run asks for.
  folder.context.job_template = "srun -n{{processes}} {{hpcbench}} rank -- {{#argv}}{{{.}}} {{/argv}}\n";
  CHECK_THROWS_WITH_AS(
      folder.write(command_experiment({"true"})),
      "error: mine.mustache: this template starts ranks by srun alone: it has no {{#local}}, and the executor is "
      "local\n  = take the line with `rank` from templates/job.sh.mustache, or remove `template` from the site",
      InputError);
  folder.context.executor = "slurm";
  CHECK_NOTHROW(folder.write(command_experiment({"true"})));
  folder.context.executor = "local";
  // As templates were that claimed by themselves.
  folder.context.job_template = "token=${HPCBENCH_TOKEN:-}\nsrun bash {{attempt_dir}}/job.sh rank\n";
  CHECK_THROWS_WITH_AS(
      folder.write(command_experiment({"true"})),
      "error: mine.mustache: a job script starts its processes by `{{hpcbench}} rank -- ...`, and leaves the claim to "
      "hpcbench; this one does not. Begin again from templates/job.sh.mustache",
      InputError);
}

TEST_CASE("shellcheck finds nothing in a rendered script") {
  if (std::system("command -v shellcheck >/dev/null 2>&1") != 0) return;
  const RenderedFolder folder;
  Experiment experiment = command_experiment({"python", "x y.py", "--out={{run_dir}}/x"}, 2);
  experiment.work.modules = {"cuda/12"};
  experiment.work.setup = {"export X=1"};
  const RenderedAttempt attempt = folder.write(experiment);
  CHECK(std::system(("shellcheck -s bash " + shell_quote(attempt.folder + "/job.sh")).c_str()) == 0);
  experiment.work.command = {"cat {{run_dir}}/x"};
  experiment.work.shell = true;
  experiment.workdir = "attempt";
  CHECK(std::system(("shellcheck -s bash " + shell_quote(folder.write(experiment).folder + "/job.sh")).c_str()) == 0);
}
