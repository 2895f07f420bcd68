#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "runner/render/slurm_folder.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

TEST_CASE("slurm: options follow from resources and site") {
  Experiment experiment = two_nodes({"true"});
  experiment.work.resources.time_s = 26 * 3600 + 61;
  experiment.work.resources.cpus_per_task = 8;
  experiment.work.resources.mem = "32G";
  experiment.work.resources.constraint = "a100&ib";
  experiment.work.resources.exclusive = true;
  experiment.work.resources.extra = {"--mail-type=END"};
  CHECK(join(slurm_options(experiment, make_plan(experiment).configurations.front()), " ") ==
        "--nodes=2 --ntasks-per-node=2 --cpus-per-task=8 --gpus-per-node=2 --mem=32G --time=1-02:02:00 --signal=B:USR1@60 "
        "--constraint=a100&ib --exclusive --mail-type=END");
  experiment.site.partition = "gpu";
  experiment.site.account = "p1";
  experiment.site.qos = "high";
  experiment.site.reservation = "course 1";
  experiment.site.gres_type = "a100";
  experiment.site.extra = {"--hint=nomultithread"};
  experiment.work.resources = {};
  experiment.work.launch = Launch::node;
  CHECK(join(slurm_options(experiment, make_plan(experiment).configurations.front()), " ") ==
        "--partition=gpu --account=p1 --qos=high --reservation=\"course 1\" --nodes=2 --ntasks-per-node=1 --cpus-per-task=2 "
        "--gres=gpu:a100:2 --hint=nomultithread");
  experiment.site.gres_type = "none";
  const auto without = slurm_options(experiment, make_plan(experiment).configurations.front());
  CHECK(join(without, " ").find("gpu:") == std::string::npos);
  for (const char* evil : {"a\nb", "x\"y", "$(id)", "`id`", "a\\b"}) {
    experiment.site.account = evil;
    CHECK_THROWS_AS(slurm_options(experiment, make_plan(experiment).configurations.front()), InputError);
  }
}

/// The options that hpcbench gives sbatch, in the script and in its call.
std::vector<std::string> options_written() {
  Experiment experiment = two_nodes({"true"});
  experiment.work.resources.time_s = 60;
  experiment.work.resources.mem = "32G";
  experiment.work.resources.constraint = "a100";
  experiment.work.resources.exclusive = true;
  experiment.site.partition = experiment.site.account = experiment.site.qos = experiment.site.reservation = "x";
  std::vector<std::string> options = slurm_options(experiment, make_plan(experiment).configurations.front());
  experiment.work.resources.gres = "gpu:2";
  for (const std::string& option : slurm_options(experiment, make_plan(experiment).configurations.front())) {
    if (option.starts_with("--gres")) options.push_back(option);
  }
  const SlurmFolder folder;
  const std::string script = render_array_script(experiment, {}, "00112233445566aa", 1, folder.context);
  for (const std::string& line : split(script, '\n')) {
    if (line.starts_with("#SBATCH ")) options.push_back(line.substr(8));
  }
  options.insert(options.end(), {"--parsable", "--array=0-1"});
  return options;
}

TEST_CASE(
    "slurm: no line of ours follows `extra`, whose last option may lack its value; the comment has the call's whole range") {
  Experiment experiment = two_nodes({"true"});
  experiment.site.max_running = 3;
  experiment.work.resources.extra = {"--nice=5", "--comment"};
  const SlurmFolder folder;
  const std::vector<std::string> options = slurm_options(experiment, make_plan(experiment).configurations.front());
  const std::string script = render_array_script(experiment, options, "00112233445566aa", 8, folder.context);
  CHECK(script.find("#SBATCH --nice=5\n#SBATCH --comment\n\n") != std::string::npos);
  CHECK(script.find("#SBATCH --no-requeue\n") != std::string::npos);
  CHECK(script.find("sbatch --parsable --array=0-7%3 batches/00112233445566aa/job.sh\n") != std::string::npos);
}

TEST_CASE("slurm: what hpcbench writes itself is refused in `extra`") {
  const std::vector<std::string> options = options_written();
  CHECK(options.size() >= 19);
  const auto refuses = [](const std::string& option) {
    const std::string text =
        "experiment: s\ncommand: [prog]\nmatrix: {nodes: [1]}\nresources:\n  extra:\n    - '" + option + "'\n";
    try {
      parse_experiment(text, "s.yaml", {});
    } catch (const InputError& error) {
      return std::string(error.what()).find("cannot stand in `resources.extra`") != std::string::npos;
    }
    return false;
  };
  for (const std::string& option : options) {
    CAPTURE(option);
    const std::string name = option.substr(0, option.find('='));
    CHECK(refuses(option));
    CHECK(refuses(name));
    CHECK(refuses(name + " value"));
    CHECK(refuses(name.substr(0, name.size() - 1)));  // sbatch takes prefixes
  }
  for (const char* const option :
       {"-Jx", "-N3", "-N 3", "-a0-3", "-pgpu", "-Ax", "-qx", "-c8", "-n4", "-t5", "-ox", "-Cx", "-kN3"}) {
    CAPTURE(option);
    CHECK(refuses(option));
  }
  for (const char* const option :
       {"--mail-type=END", "--hint=nomultithread", "-xn3", "-wn3", "--dependency=afterok:7", "--nice=5"}) {
    CAPTURE(option);
    CHECK_FALSE(refuses(option));
  }
}

TEST_CASE("slurm: the array's script starts the attempt of its line, which claims, runs its ranks and writes what it saw") {
  const SlurmFolder folder;
  Experiment experiment = two_nodes({"bash", "-c",
                                     "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $NODE_RANK $GROUP_RANK $MASTER_ADDR "
                                     "\"$FOO\" ${HPCBENCH_TOKEN-none}; test -f \"$HPCBENCH_RUN\""});
  experiment.work.setup = {"export FOO='set up'"};
  const RenderedAttempt attempt = folder.write(experiment);
  const std::string script = folder.write_batch(experiment, attempt);
  CHECK(folder.run_in_slurm(script) == 0);
  CHECK(read_file(attempt.folder + "/stdout.log") == "0 4 0 2 0 0 localhost set up none\n");
  CHECK(read_file(attempt.folder + "/stdout.3.log") == "3 4 1 2 1 1 localhost set up none\n");
  CHECK(read_file(attempt.folder + "/claim").starts_with("token 00112233445566aa\njob 8_0\nhost "));
  const std::string started = read_file(attempt.folder + "/started.json");
  CHECK(started.find("\"host\":\"n0\"") != std::string::npos);
  CHECK(started.find("NVIDIA \\\"A100\\\"") != std::string::npos);
  CHECK(read_file(attempt.folder + "/finished.json").find("\"exit_code\":0,\"signal\":null,\"timed_out\":false") !=
        std::string::npos);
  CHECK(read_file(folder.folder / "calls")
            .starts_with("--kill-on-bad-exit=1 --export=ALL --nodes=2 --ntasks=4 "
                         "--ntasks-per-node=2 --cpus-per-task=1 " +
                         folder.context.hpcbench + " rank -- bash -c"));
  const auto finished = nlohmann::json::parse(read_file(attempt.folder + "/finished.json"));
  REQUIRE(finished["processes"].size() == 4);
  for (int rank = 0; rank < 4; ++rank) {
    const nlohmann::json& process = finished["processes"][static_cast<std::size_t>(rank)];
    CHECK(process["rank"] == rank);
    CHECK(process["user_s"].is_number());
    CHECK(process["max_rss_bytes"].get<long long>() > 100'000);
  }
  // A second start of the same job, after a crash of the controller, touches nothing.
  CHECK(folder.run_in_slurm(script) == 0);
  CHECK(read_file(attempt.folder + "/stdout.log") == "0 4 0 2 0 0 localhost set up none\n");
  CHECK(folder.run_in_slurm(script, 5) == 3);  // no such line
}

TEST_CASE("slurm: once is one process without srun; set-up that fails fails the run") {
  const SlurmFolder folder;
  Experiment experiment = two_nodes({"bash", "-c", "echo $RANK of $WORLD_SIZE"});
  experiment.work.launch = Launch::once;
  SUBCASE("once") {
    const RenderedAttempt attempt = folder.write(experiment);
    CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 0);
    CHECK(read_file(attempt.folder + "/stdout.log") == "0 of 1\n");
    CHECK_FALSE(std::filesystem::exists(folder.folder / "calls"));
  }
  SUBCASE("set-up; one that leaves early is no success") {
    for (const auto& [line, status] : {std::pair{"exit 42", 42}, std::pair{"exit 0", 1}}) {
      experiment.work.setup = {line};
      const RenderedAttempt attempt = folder.write(experiment);
      CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == status);
      CHECK(read_file(attempt.folder + "/finished.json").find("\"exit_code\":" + std::to_string(status)) != std::string::npos);
    }
  }
  SUBCASE("set-up that takes all of the time") {
    experiment.work.setup = {"kill -USR1 $PPID", "sleep 300"};  // Slurm's word that the limit is near
    const RenderedAttempt attempt = folder.write(experiment);
    CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 124);
    CHECK(read_file(attempt.folder + "/finished.json").find("no process had started") != std::string::npos);
  }
  SUBCASE("set-up knows the job, and may change what its processes share") {
    experiment.work.command = {"bash", "-c", "echo $SEEN $OMP_NUM_THREADS"};
    experiment.work.setup = {"export SEEN=$WORLD_SIZE-$OMP_NUM_THREADS-${HPCBENCH_RUN##*/} OMP_NUM_THREADS=7"};
    const RenderedAttempt attempt = folder.write(experiment);
    CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 0);
    CHECK(read_file(attempt.folder + "/stdout.log") == "1-1-run.json 7\n");
  }
}

TEST_CASE("slurm: modules and set-up lines run once, on the host, whether a shell reads the command or not") {
  SlurmFolder folder;
  folder.add_tool("apptainer", "#!/usr/bin/env bash\nwhile [[ $1 != *.sif ]]; do shift; done\nshift\nIN_IMAGE=1 \"$@\"\n");
  const std::string log = folder.folder / "set_up";
  folder.add_tool("module", "#!/usr/bin/env bash\necho \"module $* ${IN_IMAGE-host}\" >>" + shell_quote(log) + "\n");
  Experiment experiment = two_nodes({"bash", "-c", "echo \"$WHERE ${IN_IMAGE-host}\""});
  std::string set_where = "export WHERE=here";
  SUBCASE("a list") {}
  SUBCASE("a shell's text") {
    experiment.work.shell = true;
    experiment.work.command = {"echo \"$WHERE ${IN_IMAGE-host}\""};
    set_where = "WHERE=here";
  }
  experiment.work.container = Container{"image.sif"};
  experiment.work.modules = {"cuda/12"};
  experiment.work.setup = {"echo \"line ${IN_IMAGE-host}\" >>" + shell_quote(log), set_where};
  const RenderedAttempt attempt = folder.write(experiment);
  CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 0);
  CHECK(read_file(log) == "module load cuda/12 host\nline host\n");
  CHECK(read_file(attempt.folder + "/stdout.3.log") == "here 1\n");
}

TEST_CASE("slurm: mpirun and containers start what is asked for") {
  SlurmFolder folder;
  folder.add_tool(
      "mpirun",
      "#!/bin/bash\nprintf 'mpirun %s\\n' \"$*\" >>\"$FAKE_CALLS\"\n"
      "while [[ $1 != */hpcbench ]]; do shift; done\nfor rank in 0 1 2 3; do OMPI_COMM_WORLD_RANK=$rank \"$@\"; done\n");
  folder.add_tool("apptainer", "#!/usr/bin/env bash\nprintf 'apptainer %s\\n' \"$*\" >>\"$FAKE_CALLS\"\n");
  Experiment experiment = two_nodes({"true"});
  experiment.launcher = "mpirun";
  experiment.work.container = Container{"my image.sif"};
  const RenderedAttempt attempt = folder.write(experiment);
  CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 0);
  const std::string calls = read_file(folder.folder / "calls");
  CHECK(calls.find("mpirun -np 4 --map-by ppr:2:node " + folder.context.hpcbench + " rank") != std::string::npos);
  CHECK(calls.find("--nv my image.sif true") != std::string::npos);
  // By itself mpirun may bind a rank, and so all its threads, to one core.
  experiment.work.resources.cpus_per_task = 4;
  CHECK(folder.write(experiment).job_sh.find("--map-by ppr:2:node --bind-to none \\\n") != std::string::npos);
  CHECK(std::filesystem::exists(attempt.folder + "/stdout.3.log"));
}

}  // namespace

}  // namespace hpcbench
