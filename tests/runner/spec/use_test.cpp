// Parts that files share: `use`.
#include <doctest/doctest.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/files.hpp"
#include "fakes/checks.hpp"
#include "fakes/temporary_folder.hpp"
#include "spec/read_experiment.hpp"

using namespace hpcbench;

namespace {

const char* const kCommon = R"yaml(command: [prog, "{{hidden}}"]
repeats: 8
resources: {time: 1h, cpus_per_task: 4}
metrics: [{name: loss, file: out.log, pattern: 'loss (\S+)'}]
profiles:
  quick: {repeats: 3, resources: {cpus_per_task: ~}}
)yaml";

const char* const kStudy = R"yaml(experiment: shared
use: common.yaml
matrix: {hidden: [1, 2], nodes: [1]}
resources: {time: 10m}
)yaml";

struct Shared {
  TemporaryFolder folder;
  std::string path = folder / "study.yaml";

  Shared(const std::string& study, const std::string& common) {
    write(study);
    write_file(folder / "common.yaml", common, Durability::none);
  }
  void write(const std::string& study) const { write_file(path, study, Durability::none); }
  Experiment read(const ReadOptions& options = {}) const { return parse_experiment(read_file(path), path, options); }
  std::string failure(const ReadOptions& options = {}) const {
    std::string text = error_of<InputError>([&] { read(options); });
    for (std::size_t at = text.find(folder.path().string()); at != std::string::npos; at = text.find(folder.path().string()))
      text.replace(at, folder.path().string().size(), "HERE");
    return text;
  }
};

}  // namespace

TEST_CASE("use: the file lies on what it uses, profiles of both on that") {
  const Shared shared(kStudy, kCommon);
  const Experiment plain = shared.read();
  CHECK(plain.repeats == 8);
  CHECK(plain.work.resources.time_s == 600);
  CHECK(plain.work.resources.cpus_per_task == 4);
  CHECK(plain.origins.at("repeats") == shared.folder / "common.yaml:2:10");
  CHECK(plain.origins.at("resources.time") == shared.path + ":4:19");
  const Experiment quick = shared.read({.profile = "quick", .site = {}, .settings = {}});
  CHECK(quick.repeats == 3);
  CHECK(quick.work.resources.cpus_per_task == 1);
  CHECK(shared.read({.profile = "quick", .site = {}, .settings = {"repeats=5"}}).repeats == 5);
}

TEST_CASE("use: the later file counts, `~` takes away what a used file says, a profile of one name is replaced whole") {
  const Shared shared("experiment: s\nuse: [common.yaml, more.yaml]\nmetrics: ~\nprofiles: {quick: {repeats: 4}}\n", kCommon);
  write_file(shared.folder / "more.yaml", "repeats: 9\nmatrix: {hidden: [5]}\n", Durability::none);
  const Experiment experiment = shared.read();
  CHECK(experiment.repeats == 9);
  CHECK(experiment.work.metrics.empty());
  const Experiment quick = shared.read({.profile = "quick", .site = {}, .settings = {}});
  CHECK(quick.repeats == 4);
  CHECK(quick.work.resources.cpus_per_task == 4);
}

TEST_CASE("use: a copy elsewhere reads the same, and its copy too") {
  const Shared shared("experiment: s\nuse: [\"common.yaml\", 'sub/some more.yaml']  # both\nmatrix: {hidden: [1]}\n", kCommon);
  make_folders(shared.folder / "sub");
  write_file(shared.folder / "sub/some more.yaml", "repeats: 7\n", Durability::none);
  std::vector<FileCopy> copies = shared.read().copies;
  for (const char* const round : {"first", "second"}) {
    const TemporaryFolder elsewhere;
    REQUIRE(copies.size() == 3);
    CHECK(copies[0].text ==
          "experiment: s\nuse: ['used/1/common.yaml', 'used/2/some more.yaml']  # both\nmatrix: {hidden: [1]}\n");
    for (const FileCopy& copy : copies) {
      const std::filesystem::path path = elsewhere.path() / copy.name;
      make_folders(path.parent_path());
      write_file(path, copy.text, Durability::none);
    }
    CAPTURE(round);
    const std::string path = elsewhere / "study.yaml";
    const Experiment again = parse_experiment(read_file(path), path, {});
    CHECK(again.repeats == 7);
    copies = again.copies;
  }
}

TEST_CASE("use: errors name the file that they stand in") {
  const Shared shared(kStudy, "command: [prog, \"{{hidden}}\"]\nrepeats: none\nresorces: {time: 1h}\n");
  CHECK(shared.failure() ==
        "HERE/common.yaml:2:10: error: `repeats` must be a positive integer, not `none`\n  | repeats: none\n  |          ^\n"
        "HERE/common.yaml:3:1: error: unknown key `resorces` (did you mean `resources`?)\n  | resorces: {time: 1h}\n  | ^");
  const Shared good(kStudy, kCommon);
  const auto failure = [&](const std::string& study) {
    good.write(study);
    return good.failure();
  };
  CHECK(failure("experiment: s\nuse: [comon.yaml]\n") ==
        "HERE/study.yaml:2:7: error: there is no file HERE/comon.yaml\n  | use: [comon.yaml]\n  |       ^\n"
        "  = a name in `use` is seen from the folder of the file that it stands in");
  CHECK(failure("experiment: s\nuse: .\n").starts_with("HERE/study.yaml:2:6: error: HERE/ is no file\n"));
  CHECK(failure("experiment: s\nuse: /dev/zero\n").starts_with("HERE/study.yaml:2:6: error: /dev/zero is no file\n"));
  CHECK(failure("experiment: s\nuse: [{a: 1}]\n")
            .starts_with("HERE/study.yaml:2:7: error: `use` takes names of files, written without escapes\n"));
  CHECK(failure("experiment: s\nuse: [\"\\x63ommon.yaml\"]\n").find("written without escapes") != std::string::npos);
  CHECK(failure("experiment: s\nuse: common.yaml\nmatrix: {hidden: [1]}\nworkdir: ~\n") ==
        "HERE/study.yaml:4:1: error: `workdir` is not there to be taken away\n  | workdir: ~\n  | ^\n"
        "  = nothing below says it; remove this line");
  CHECK(failure("experiment: s\nuse: study.yaml\n").starts_with("HERE/study.yaml:2:1: error: a used file uses no others\n"));
  CHECK(failure("experiment: s\ncommand: [prog]\nmatrix: {nodes: [1]}\nprofiles: {a: {use: common.yaml}}\n")
            .starts_with("HERE/study.yaml:4:16: error: a profile cannot change `use`\n"));
  good.write(kStudy);
  CHECK(good.failure({.profile = {}, .site = {}, .settings = {"use=other.yaml"}})
            .starts_with("--set:1:1: error: `use` stands in the file"));
  write_file(good.folder / "common.yaml", "- a\n", Durability::none);
  CHECK(good.failure().starts_with("HERE/common.yaml:1:1: error: a used file has keys"));
}

TEST_CASE("several profiles lie on each other in their order") {
  const std::string text =
      "experiment: p\ncommand: [prog]\nmatrix: {nodes: [1]}\nrepeats: 8\nprofiles: {a: {repeats: 3, warmups: 1}, b: {repeats: "
      "4}, c: {warmups: 2}}\n";
  const auto read = [&](const std::string& profiles) {
    return parse_experiment(text, "p.yaml", {.profile = profiles, .site = {}, .settings = {}});
  };
  CHECK(read("a,b").repeats == 4);
  CHECK(read("b,a").repeats == 3);
  CHECK(read("a,b,c").warmups == 2);
  CHECK(read("a,b").warmups == 1);
  CHECK(read("a,b").profile == "a,b");
  CHECK_THROWS_WITH_AS(read("a,quick"), "error: p.yaml has no profile `quick`\n  = profiles there are: `a`, `b`, `c`",
                       InputError);
}
