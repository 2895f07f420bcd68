#include "runfiles/rank_binding.hpp"

#include <doctest/doctest.h>

#include <string>

#include "base/files.hpp"
#include "fakes/temporary_folder.hpp"

namespace hpcbench {

namespace {

bool nobody_is_alive(int /*pid*/) { return false; }

RankBinding rank_on(const std::string& run, const std::string& cores, double from_s, std::optional<double> to_s) {
  return {run, 0, 1, cores, cores, "0", "", from_s, to_s};
}

TEST_CASE("lists of numbers, read and written") {
  CHECK(parse_number_list("0-3,8") == std::vector<int>{0, 1, 2, 3, 8});
  CHECK(parse_number_list("") == std::vector<int>{});
  CHECK(parse_number_list("5,1-x,2") == std::vector<int>{5});
  CHECK(parse_number_list("3-1").empty());
  CHECK(parse_number_list("0-99999999").empty());
  CHECK(number_list({0, 1, 2, 3, 8}) == "0-3,8");
  CHECK(number_list({}).empty());
}

TEST_CASE("what ranks noted is read again, and lines that are none are left out") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / kBindingsFile).string();
  CHECK(read_bindings(path).empty());
  note_binding(path, {"c/r01/a1", 1, 42, "0-1", "0", "0", "3", 1.5, std::nullopt});
  note_binding(path, {"d/r01/a1", 0, 43, "2-3", "2", "1", "", 1.75, std::nullopt});
  write_file(path, read_file(path) + "{\"run\":\n", Durability::none);
  note_binding_end(path, "c/r01/a1", 1, 2.5);
  const std::vector<RankBinding> bindings = read_bindings(path);
  REQUIRE(bindings.size() == 2);
  CHECK(bindings[0].pid == 42);
  CHECK(bindings[0].gpus == "3");
  CHECK(bindings[0].from_s == doctest::Approx(1.5));
  CHECK(bindings[0].to_s == doctest::Approx(2.5));
  CHECK_FALSE(bindings[1].to_s);
  CHECK(describe_binding(bindings, "c/r01/a1") == "core 0 of NUMA node 0, GPU 3");
  CHECK(describe_binding(bindings, "d/r01/a1") == "core 2 of NUMA node 1");
  CHECK(describe_binding(bindings, "e/r01/a1").empty());
  CHECK(attempt_path("/results/x/c/r01/a1") == "c/r01/a1");
}

TEST_CASE("shared is what two runs had at the same time, and the worst of it is said") {
  std::vector<RankBinding> bindings = {rank_on("a", "0-1", 1, 5), rank_on("b", "1-2", 4, 8), rank_on("c", "0", 6, 9)};
  const auto with_b = find_sharing(bindings, "a", true, nobody_is_alive);
  REQUIRE(with_b);
  CHECK(with_b->kind == Shared::cores);
  CHECK(with_b->what == "core 1");
  CHECK(with_b->with == "b");
  CHECK_FALSE(find_sharing(bindings, "c", true, nobody_is_alive));  // core 0 was free again
  bindings[1].cores = "2";
  CHECK_FALSE(find_sharing(bindings, "a", true, nobody_is_alive));
  CHECK(find_sharing(bindings, "a", false, nobody_is_alive)->what == "NUMA node 0");
  bindings[0].gpus = "0,1";
  bindings[1].gpus = "1";
  CHECK(find_sharing(bindings, "a", false, nobody_is_alive)->what == "GPU 1");
  bindings[0].gpus = bindings[1].gpus = "MIG-a/b";
  CHECK(find_sharing(bindings, "b", true, nobody_is_alive)->what == "GPU MIG-a/b");
}

TEST_CASE("a rank whose end nobody noted shares nothing after its beginning, unless it is alive") {
  const std::vector<RankBinding> bindings = {rank_on("killed", "0", 1, std::nullopt), rank_on("next", "0", 2, 3)};
  CHECK_FALSE(find_sharing(bindings, "next", true, nobody_is_alive));
  CHECK(find_sharing(bindings, "next", true, [](int /*pid*/) { return true; }));
}

TEST_CASE("a refusal says what to do") {
  CHECK(refusal_of({Shared::cores, "cores 0-1", "b"}, "a", "n0")
            .starts_with("runs side by side shared cores 0-1 on n0 (a and b): "));
  CHECK(refusal_of({Shared::cores, "", ""}, "", "").find("TaskPlugin=task/affinity") != std::string::npos);
  CHECK(refusal_of({Shared::gpus, "", ""}, "", "").find("gres") != std::string::npos);
  CHECK(refusal_of({Shared::numa, "", ""}, "", "").find("numa: shared") != std::string::npos);
}

}  // namespace

}  // namespace hpcbench
