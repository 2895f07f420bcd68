#include <doctest/doctest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/host.hpp"
#include "rendering.hpp"

using namespace hpcbench;

TEST_CASE("run.json has every field of docs/run-directory.md") {
  RenderedFolder folder;
  folder.context.provenance = {.hpcbench_version = "0.3.0", .commit = "abc", .dirty = true};
  Experiment experiment = example_experiment();
  experiment.description = "why";
  experiment.work.metrics = {{"t", "*.log", "(.*)", "s", "epoch"}, {"u", "x", "y", "", {}}};
  experiment.work.success.pattern = "done";
  experiment.work.setup = {"export X={{lr}} Y={{strategy}}"};
  experiment.work.modules = {"cuda/12"};
  write_file(folder.context.call_folder + "/train.py", "print()\n", Durability::none);
  const Plan plan = make_plan(experiment);
  const RenderedAttempt attempt =
      render_attempt(experiment, plan, 3, {RunKind::repeat, 2}, 4, "00112233445566aa", folder.context);
  CHECK(attempt.folder == folder.context.results + '/' + plan.configurations[3].id + "/r02/a4");
  CHECK(attempt.run_json.find("\"parameters\": {\"batch_size\":8,\"lr\":1e-5}") != std::string::npos);

  const auto json = nlohmann::json::parse(attempt.run_json);
  using Json = nlohmann::json;
  CHECK(json["schema"] == 1);
  CHECK(json["experiment"] == "example");
  CHECK(json["description"] == "why");
  CHECK(json["config_id"] == plan.configurations[3].id);
  CHECK(json["run"] == "r02");
  CHECK(json["attempt"] == 4);
  CHECK(json["batch"] == "00112233445566aa");
  CHECK(json["executor"] == "local");
  CHECK(json["axes"] == Json{{"strategy", "ddp"}, {"gpus_per_node", 2}, {"nodes", 1}});
  CHECK(json["varied"] == Json{"strategy", "gpus_per_node"});
  CHECK(json["nodes"] == 1);
  CHECK(json["gpus_per_node"] == 2);
  CHECK(json["gpus"] == 2);
  CHECK(json["launch"] == "rank");
  CHECK(json["processes"] == 2);
  CHECK(json["repeat"] == 2);
  CHECK(json["seed"] == 3);
  CHECK(json["task"].is_null());
  CHECK(json["argv"] == Json{"python", "train.py", "--strategy=ddp", "--lr=1e-5"});
  CHECK(json["shell"] == false);
  CHECK(json["workdir"] == folder.context.call_folder);
  CHECK(json["setup"] == Json{"export X=1e-5 Y=ddp"});
  CHECK(json["modules"] == Json{"cuda/12"});
  CHECK(json["container"].is_null());
  CHECK(json["resources"] == Json{{"time_s", 1800},
                                  {"cpus_per_task", 1},
                                  {"mem", nullptr},
                                  {"gres", nullptr},
                                  {"constraint", nullptr},
                                  {"exclusive", false}});
  CHECK(json["metrics"][0] == Json{{"name", "t"}, {"file", "*.log"}, {"pattern", "(.*)"}, {"unit", "s"}, {"series", "epoch"}});
  CHECK(json["metrics"][1]["series"].is_null());
  CHECK(json["success"] == Json{{"exit_code", 0}, {"pattern", "done"}});
  CHECK(json["call_folder"] == folder.context.call_folder);
  CHECK(json["intended_unix_s"] == 1763650000.0);
  CHECK(json["hpcbench"] == "0.3.0");
  CHECK(json["commit"] == "abc");
  CHECK(json["dirty"] == true);
  // printf 'print()\n' | sha256sum
  CHECK(json["code"] == Json::array({{{"path", "train.py"}, {"sha256", sha256_hex("print()\n")}}}));
}

TEST_CASE("a built-in task gets settings: parameters, then axes, then seed and task") {
  const RenderedFolder folder;
  Experiment experiment = example_experiment();
  experiment.work.command.clear();
  experiment.work.trainer = "mnist_rnn";
  experiment.work.parameters = plain_bindings({{"lr", "0.10"}, {"seed", "99"}});
  const auto json = nlohmann::ordered_json::parse(folder.write(experiment).run_json);
  CHECK(json["task"] == "mnist_rnn");
  CHECK(json["argv"] == nlohmann::json{"/opt/bin/hpcbench-train", "run"});
  CHECK(json["settings"].dump() ==
        R"({"lr":0.1,"seed":2,"strategy":"baseline","gpus_per_node":1,"nodes":1,"task":"mnist_rnn"})");
}

TEST_CASE("names that are always defined") {
  const RenderedFolder folder;
  Experiment experiment =
      command_experiment({"x", "{{nodes}} {{gpus_per_node}} {{gpus}} {{repeat}} {{seed}}", "{{run_dir}}/x"}, 2);
  experiment.matrix.push_back(plain_axis("nodes", {"3"}));
  experiment.work.launch = Launch::node;
  const RenderedAttempt attempt = folder.write(experiment);
  const auto json = nlohmann::json::parse(attempt.run_json);
  CHECK(json["argv"][1] == "3 2 6 1 2");
  CHECK(json["argv"][2] == attempt.folder + "/out/x");
  CHECK(json["processes"] == 3);
}

TEST_CASE("the working directory: of the call, named, or the attempt's own") {
  const RenderedFolder folder;
  Experiment experiment = command_experiment({"x"});
  const auto workdir = [&] { return nlohmann::json::parse(folder.write(experiment).run_json)["workdir"].get<std::string>(); };
  experiment.workdir = "../there/";
  CHECK(workdir() == folder.folder / "there");
  experiment.workdir = "/srv/x";
  CHECK(workdir() == "/srv/x");
  experiment.workdir = "attempt";
  CHECK(workdir() == folder.write(experiment).folder + "/out");
}

TEST_CASE("the working directory and the image are those of the point") {
  RenderedFolder folder;
  folder.context.executor = "slurm";
  folder.context.job_template = read_file(HPCBENCH_SOURCE_DIR "/templates/job.sh.mustache");
  Experiment experiment = command_experiment({"x"});
  experiment.work.parameters = {{"version", Value::from_text("24.1")}};
  experiment.workdir = "code-{{version}}";
  experiment.work.container = Container{"torch-{{version}}.sif"};
  const RenderedAttempt attempt = folder.write(experiment);
  const auto json = nlohmann::json::parse(attempt.run_json);
  CHECK(json["workdir"] == folder.context.call_folder + "/code-24.1");
  CHECK(json["container"] == "torch-24.1.sif");
  CHECK(attempt.job_sh.find("{{") == std::string::npos);
  CHECK(attempt.job_sh.find("torch-24.1.sif") != std::string::npos);
  experiment.work.container = Container{"{{tag}}.sif"};
  CHECK_THROWS_AS(folder.write(experiment), InputError);
}

TEST_CASE("in a shell's text and in set-up lines values are words of the shell") {
  const RenderedFolder folder;
  Experiment experiment = command_experiment({"echo {{x}} | wc"});
  experiment.work.shell = true;
  experiment.work.parameters = {{"x", Value::from_text("a b; rm 'c'")}};
  experiment.work.setup = {"export X={{x}}"};
  const auto json = nlohmann::json::parse(folder.write(experiment).run_json);
  CHECK(json["argv"] == nlohmann::json{R"(echo 'a b; rm '\''c'\''' | wc)"});
  CHECK(json["setup"] == nlohmann::json{R"(export X='a b; rm '\''c'\''')"});
  CHECK(json["shell"] == true);
}

TEST_CASE("an undefined placeholder is an error") {
  RenderedFolder folder;
  const Experiment experiment = command_experiment({"x", "{{y}}"});
  CHECK_THROWS_AS(folder.write(experiment), InputError);
}

TEST_CASE("code files are those that the command names") {
  const TemporaryFolder folder;
  write_file(folder.path() / "train.py", "a", Durability::none);
  write_file(folder.path() / "conf.yaml", "b", Durability::none);
  write_file(folder.path() / "python", "c", Durability::none);
  make_folders(folder.path() / "data");
  const auto paths = [&](const std::vector<std::string>& command) {
    std::vector<std::string> found;
    for (const CodeFile& file : code_files(command, folder.path().string())) found.push_back(file.path);
    return found;
  };
  CHECK(paths({"python", "train.py", "--config=conf.yaml", "train.py", "data", "missing", ""}) ==
        std::vector<std::string>{"train.py", "conf.yaml"});
  CHECK(paths({"./train.py"}) == std::vector<std::string>{"./train.py"});
  CHECK(paths({"x", "-o", "train.py", "--output=conf.yaml", "--logfile", "python"}).empty());
  CHECK(code_files({"x", "train.py"}, folder.path().string()).front().sha256 == sha256_hex("a"));
  write_file(folder.path() / "train.py", "changed", Durability::none);
  CHECK(code_files({"x", "train.py"}, folder.path().string()).front().sha256 == sha256_hex("changed"));
}

TEST_CASE("a large file's hash is of its size and of samples") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "solver").string();
  std::string bytes(12'000'001, 'x');
  const auto hash = [&] {
    std::filesystem::remove(path);  // a file of the same size that is written at once may have the same time
    write_file(path, bytes, Durability::none);
    return code_hash(path).value_or("none");
  };
  const std::string before = hash();
  CHECK(before.size() == 64);
  CHECK(before != sha256_hex(bytes));
  CHECK(hash() == before);
  for (const std::size_t at : {std::size_t{0}, bytes.size() / 159 * 80, bytes.size() - 1}) {
    bytes[at] = 'y';
    CHECK(hash() != before);
    bytes[at] = 'x';
  }
  bytes += 'x';
  CHECK(hash() != before);
}

TEST_CASE("a program is the first executable of its name on PATH") {
  const TemporaryFolder folder;
  for (const char* name : {"a/app", "b/app", "b/other"}) {
    make_folders((folder.path() / name).parent_path());
    write_file(folder.path() / name, name, Durability::none);
    ::chmod((folder.path() / name).c_str(), name == std::string("a/app") ? 0644 : 0755);
  }
  const std::string here = folder.path().string();
  const std::optional<ProgramFile> found = program_on_path({"app", "x"}, "a:b:/nowhere", here);
  REQUIRE(found);
  CHECK(found->name == "app");
  CHECK(found->path == here + "/b/app");
  CHECK(found->sha256 == sha256_hex("b/app"));
  CHECK_FALSE(program_on_path({"./app"}, "b", here));
  CHECK_FALSE(program_on_path({"missing"}, "b", here));
  CHECK_FALSE(program_on_path({}, "b", here));
}

TEST_CASE("run.json has the program that PATH finds, unless modules or set-up lines may change PATH") {
  RenderedFolder folder;
  Experiment experiment = command_experiment({"sh", "-c", "true"});
  const auto program = [&] {
    return nlohmann::json::parse(folder.write(experiment).run_json).value("program", nlohmann::json());
  };
  CHECK(program()["name"] == "sh");
  CHECK(program()["sha256"] == sha256_hex(read_file(program()["path"].get<std::string>())));
  experiment.work.setup = {"export PATH=/opt:$PATH"};
  CHECK(program().is_null());
  experiment.work.setup.clear();
  experiment.work.environment = {{"PATH", "/nowhere"}};
  CHECK(program().is_null());
}

TEST_CASE("of a shell's text, files that output is redirected to are no code") {
  RenderedFolder folder;
  for (const char* name : {"in.txt", "out.txt"}) write_file(folder.context.call_folder + "/" + name, name, Durability::none);
  Experiment experiment = command_experiment({"cat in.txt > out.txt 2>&1"});
  experiment.work.shell = true;
  const nlohmann::json code = nlohmann::json::parse(folder.write(experiment).run_json)["code"];
  REQUIRE(code.size() == 1);
  CHECK(code[0]["path"] == "in.txt");
}

TEST_CASE("provenance is of the folder's repository, or absent") {
  const TemporaryFolder folder;
  const Provenance none = find_provenance(folder / "");
  CHECK(none.hpcbench_version == HPCBENCH_VERSION);
  CHECK_FALSE(none.commit);
  CHECK_FALSE(none.dirty);
  CHECK_FALSE(find_provenance("/no/such/folder").commit);
  const std::string git =
      "cd " + shell_quote(folder / "") +
      " && git init -q && git config user.email a@b && git config user.name a && echo 1 >x && git add x && git commit -qm x";
  if (std::system((git + " >/dev/null 2>&1").c_str()) != 0) return;  // no git here
  CHECK(find_provenance(folder / "").commit->size() == 40);
  CHECK(find_provenance(folder / "").dirty == false);
  write_file(folder / "results", "new", Durability::none);
  CHECK(find_provenance(folder / "").dirty == false);
  write_file(folder / "x", "2", Durability::none);
  CHECK(find_provenance(folder / "").dirty == true);
}
