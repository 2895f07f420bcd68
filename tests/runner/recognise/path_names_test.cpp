#include "recognise/path_names.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

namespace hpcbench {

namespace {

using Values = std::map<std::string, std::vector<std::string>>;

Values values_of(const PathNames& names) {
  Values values;
  for (const ToolColumn& column : names.columns) values[column.name] = column.values;
  return values;
}

}  // namespace

TEST_CASE("values of names are called by the letters before them") {
  const PathNames names = find_path_names({"runs/run_bs16_lr1e-4_n1_seed1/log.txt", "runs/run_bs16_lr1e-4_n4_seed2/log.txt",
                                           "runs/run_bs64_lr4e-4_n1_seed1/log.txt"});
  CHECK(names.pattern == "runs/run_bs{bs}_lr{lr}_n{n}_seed{repeat}/log.txt");
  CHECK(values_of(names) ==
        Values{
            {"bs", {"16", "16", "64"}}, {"lr", {"1e-4", "1e-4", "4e-4"}}, {"n", {"1", "4", "1"}}, {"repeat", {"1", "2", "1"}}});
}

TEST_CASE("values are called by what stands before an equals sign, or by the part before a plain number") {
  CHECK(find_path_names({"lr=0.1,opt=adam", "lr=0.2,opt=sgd"}).pattern == "lr={lr},opt={opt}");
  CHECK(find_path_names({"bs_8_gpus_1.log", "bs_16_gpus_2.log"}).pattern == "bs_{bs}_gpus_{gpus}.log");
  CHECK(find_path_names({"ddp-2.txt", "fsdp-4.txt"}).pattern == "{variant}-{variant_2}.txt");
}

TEST_CASE("what is the same everywhere is no value, and a label is no part of a word") {
  CHECK(find_path_names({"bs8/fp16/log", "bs8/bf16/log"}).pattern == "bs8/{variant}/log");
  CHECK(find_path_names({"dp.log", "ddp.log"}).pattern == "{variant}.log");
  CHECK(find_path_names({"one.log"}).columns.empty());
  CHECK(find_path_names({}).paths.empty());
}

TEST_CASE("time stamps name runs, and paths of another form are noted") {
  const PathNames names = find_path_names({"20260101_n1.log", "20260102_n2.log", "notes.log"});
  CHECK(names.pattern == "{run}_n{n}.log");
  CHECK(names.paths.size() == 2);
  CHECK(names.left_out == std::vector<std::string>{"1 path of another form, such as notes.log"});
}

TEST_CASE("characters of globs in names are escaped") {
  CHECK(find_path_names({"a[1]/n1.log", "a[1]/n2.log"}).pattern == "a\\[1\\]/n{n}.log");
}

TEST_CASE("folders of runs have one name, and others that differ are left open") {
  CHECK(find_run_folders({"multirun/a/0", "multirun/a/1"}).pattern == "multirun/a/{run}");
  CHECK(find_run_folders({"multirun/a/0", "multirun/b/0"}).pattern == "multirun/*/{run}");
}

}  // namespace hpcbench
