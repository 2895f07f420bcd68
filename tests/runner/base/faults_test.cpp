#include "base/faults.hpp"

#include <doctest/doctest.h>

#include <csignal>

using namespace hpcbench;

TEST_CASE("faults: texts set them, and say what they must be") {
  Faults faults;
  CHECK(set_fault(faults, "kill_rank.at", "1m") == "");
  CHECK(set_fault(faults, "kill_rank.rank", "3") == "");
  CHECK(set_fault(faults, "kill_rank.signal", "TERM") == "");
  CHECK(set_fault(faults, "slow_node.by", "2.5") == "");
  CHECK(set_fault(faults, "slow_node.from", "5 s") == "");
  CHECK(set_fault(faults, "slow_node.for", "0s") != "");
  CHECK(set_fault(faults, "slow_node.by", "0.5") != "");
  CHECK(set_fault(faults, "kill_rank.rank", "-1") != "");
  CHECK(set_fault(faults, "kill_rank.signal", "SIGKILL") != "");
  CHECK(set_fault(faults, "kill_rank.step", "0") != "");
  CHECK(faults.kill_rank->at_s == 60);
  CHECK(faults_json(faults) == R"({"kill_rank":{"at_s":60,"rank":3,"signal":"TERM"},"slow_node":{"by":2.5,"from_s":5}})");
  CHECK(describe_faults(faults) == "rank 3 gets SIGTERM after 60 s; the last node is slower by 2.5 from 5 s");
}

TEST_CASE("faults: none, and slower by 1, are none") {
  Faults faults;
  CHECK(set_fault(faults, "kill_rank.at", "none") == "");
  CHECK(set_fault(faults, "kill_rank.rank", "1") == "");
  CHECK(set_fault(faults, "slow_node.by", "1") == "");
  CHECK(faults.any());
  CHECK_FALSE(without_idle(faults).any());
}

TEST_CASE("faults: run.json gives them back, and what it does not know is not there") {
  const std::string text = R"({"kill_rank":{"launched":4,"rank":2,"step":100},"slow_node":{"by":4,"for_s":10,"node":1}})";
  const Faults faults = parse_faults(text);
  CHECK(faults_json(faults) == text);
  CHECK(faults.kill_rank->signal == "KILL");
  CHECK(signal_number(faults.kill_rank->signal) == SIGKILL);
  CHECK_FALSE(parse_faults("").any());
  CHECK_FALSE(parse_faults(R"({"kill_rank":{"rank":2},"slow_node":{"by":"x"}})").any());
  CHECK(parse_faults(R"({"kill_rank":{"at_s":1,"rank":-2,"signal":"NONE"}})").kill_rank->signal == "KILL");
  CHECK_FALSE(parse_faults(R"({"kill_rank":{"at_s":1,"rank":-2}})").kill_rank->rank);
}
