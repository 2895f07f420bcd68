#include <doctest/doctest.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "runner/render/rendering.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

/// srun's stand-in: one task after the other here, told apart as Slurm does.
constexpr const char* kFakeSrun = R"(#!/bin/bash
printf '%s\n' "$*" >>"$FAKE_CALLS"
for argument in "$@"; do case $argument in --ntasks=*) tasks=${argument#*=} ;; --ntasks-per-node=*) per_node=${argument#*=} ;; esac; done
while [[ $1 == --* ]]; do shift; done
code=0
for ((task = 0; task < tasks; task++)); do
  SLURM_PROCID=$task SLURM_LOCALID=$((task % per_node)) SLURM_NODEID=$((task / per_node)) "$@" || code=$?
done
[ "$code" -eq 0 ] || exit 143   # as --kill-on-bad-exit has it: not the code of the first that failed
)";
constexpr const char* kFakeScontrol = "#!/usr/bin/env bash\n[ \"$2\" = hostnames ] && printf 'localhost\\nn1\\n'\n";
constexpr const char* kFakeNvidiaSmi = "#!/usr/bin/env bash\necho 'GPU 0: NVIDIA \"A100\" (UUID: GPU-1)'\n";

class SlurmFolder : public RenderedFolder {
 public:
  SlurmFolder() {
    context.executor = "slurm";
    context.job_template = read_file(HPCBENCH_SOURCE_DIR "/templates/job.sh.mustache");
    context.array_template = read_file(HPCBENCH_SOURCE_DIR "/templates/slurm_array.sh.mustache");
    add_tool("srun", kFakeSrun);
    add_tool("scontrol", kFakeScontrol);
    add_tool("nvidia-smi", kFakeNvidiaSmi);
  }

  void add_tool(const std::string& name, const std::string& text) {
    make_folders(folder / "bin");
    write_file(folder / ("bin/" + name), text, Durability::none);
    std::filesystem::permissions(folder / ("bin/" + name), std::filesystem::perms::owner_all);
  }

  /// As an element of a job array on two nodes.
  int run_in_slurm(const std::string& script, int index = 0, const std::string& first = "") const {
    const std::string command = "export PATH=" + shell_quote(folder / "bin") +
                                ":$PATH FAKE_CALLS=" + shell_quote(folder / "calls") +
                                " SLURM_JOB_ID=9 SLURM_ARRAY_JOB_ID=8 SLURM_ARRAY_TASK_ID=" + std::to_string(index) +
                                " SLURMD_NODENAME=n0 SLURM_JOB_NODELIST='n[0-1]'; cd " + shell_quote(context.results) + "; " +
                                first + "exec bash " + shell_quote(script) + " 2>>" + shell_quote(folder / "job.err");
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// The batch of this one attempt; the path of its script.
  std::string write_batch(const Experiment& experiment, const RenderedAttempt& attempt) const {
    const std::string batch = "00112233445566aa";
    make_folders(context.results + "/batches/" + batch);
    write_file(context.results + "/batches/" + batch + "/attempts.txt", to_string(attempt.key) + "\n", Durability::none);
    const auto options = slurm_options(experiment, make_plan(experiment).configurations.front());
    const std::string path = context.results + "/" + batch_script_path(batch);
    write_file(path, render_array_script(experiment, options, batch, 1, context), Durability::none);
    return path;
  }
};

Experiment two_nodes(std::vector<std::string> command) {
  Experiment experiment = command_experiment(std::move(command), 2);
  experiment.matrix.push_back({"nodes", {Value::from_integer(2)}});
  return experiment;
}

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

TEST_CASE("slurm: the first rank that failed says how the run ended, not srun") {
  const SlurmFolder folder;
  const Experiment experiment = two_nodes({"bash", "-c", "exit $((RANK == 0 ? 0 : 4 + RANK))"});
  const RenderedAttempt attempt = folder.write(experiment);
  CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 5);
  const std::string finished = read_file(attempt.folder + "/finished.json");
  CHECK(finished.find("\"exit_code\":5,\"signal\":null,\"first_failed_rank\":1") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(attempt.folder + "/first_failed"));
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
  SUBCASE("set-up knows the job, and may change what its processes share") {
    experiment.work.command = {"bash", "-c", "echo $SEEN $OMP_NUM_THREADS"};
    experiment.work.setup = {"export SEEN=$WORLD_SIZE-$OMP_NUM_THREADS-${HPCBENCH_RUN##*/} OMP_NUM_THREADS=7"};
    const RenderedAttempt attempt = folder.write(experiment);
    CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 0);
    CHECK(read_file(attempt.folder + "/stdout.log") == "1-1-run.json 7\n");
  }
}

TEST_CASE("slurm: near the time limit, and when asked to end") {
  const SlurmFolder folder;
  Experiment experiment = command_experiment({"bash", "-c", "kill -s $NAMED $(ps -o ppid= -p $PPID); sleep 100"});
  experiment.work.launch = Launch::once;
  experiment.work.resources.time_s = 600;
  SUBCASE("USR1 is the time limit") {
    experiment.work.setup = {"export NAMED=USR1"};
    const RenderedAttempt attempt = folder.write(experiment);
    CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 124);
    CHECK(read_file(attempt.folder + "/finished.json").find("\"timed_out\":true,\"time_limit_s\":600") != std::string::npos);
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
    CHECK(read_file(attempt.folder + "/stopped") == "TERM\n");
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
      "((until [ -e \"$A/dying\" ]; do sleep 0.05; done; sleep 0.5; "
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
  experiment.work.container = "image.sif";
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
  experiment.work.container = "my image.sif";
  const RenderedAttempt attempt = folder.write(experiment);
  CHECK(folder.run_in_slurm(folder.write_batch(experiment, attempt)) == 0);
  const std::string calls = read_file(folder.folder / "calls");
  CHECK(calls.find("mpirun -np 4 --map-by ppr:2:node " + folder.context.hpcbench + " rank") != std::string::npos);
  CHECK(calls.find("--nv my image.sif true") != std::string::npos);
  CHECK(std::filesystem::exists(attempt.folder + "/stdout.3.log"));
}

}  // namespace

}  // namespace hpcbench
