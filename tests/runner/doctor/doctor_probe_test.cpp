#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "doctor/doctor_probe_facts.hpp"
#include "fakes/checks.hpp"

namespace hpcbench {

namespace {

NodeWord word_of(const char* json, double asked_s, double seen_s) { return {*parse_node_facts(json), asked_s, seen_s}; }

ProbeEnd good_end() {
  ProbeEnd end;
  end.began = true;
  end.starts_status = 0;
  end.job_status = 0;
  end.said = {
      word_of(R"({"node":"n1","gpus":2,"usable_cores":4,"granted_cores":4,"answered":true,"unix_s":100.25})", 100, 100.5)};
  return end;
}

std::string told(const ProbeShape& shape, const ProbeEnd& end) {
  Findings findings;
  find_in_probe(shape, end, "/opt/hpcbench", 300, findings);
  return findings_text(findings);
}

}  // namespace

TEST_CASE("what a node says is read, and what it does not say is absent") {
  const auto facts = parse_node_facts(R"({"node":"n1","gpus":null,"usable_cores":4,"answered":true,"unix_s":1.5})");
  REQUIRE(facts);
  CHECK(facts->node == "n1");
  CHECK(!facts->gpus);
  CHECK(facts->usable_cores == 4);
  CHECK(!facts->granted_memory_mb);
  CHECK(facts->answered);
  CHECK(!parse_node_facts(""));
  CHECK(!parse_node_facts(R"({"node":"n1"})"));
  CHECK(!parse_node_facts(R"({"node":1,"unix_s":1})"));
  CHECK(rc::check("any text is read without harm", [](const std::string& text) { parse_node_facts(text); }));
}

TEST_CASE("a node that has what was asked for is well") {
  const std::string text = told({1, 2, 4}, good_end());
  CHECK(!contains(text, "problem"));
  CHECK(!contains(text, "warning"));
  CHECK(contains(text, "the clock of node n1 is 0 ms ahead of this one's (± 250 ms)"));
}

TEST_CASE("a clock is wrong only where the uncertainty does not explain it") {
  ProbeEnd end = good_end();
  end.said[0].facts.unix_s = 98;
  CHECK(contains(told({1, 2, 4}, end), "warning  the clock of node n1 is 2250 ms behind"));
  end.said[0].asked_unix_s = 97;
  CHECK(!contains(told({1, 2, 4}, end), "warning"));
}

TEST_CASE("what a node lacks is a problem") {
  ProbeEnd end = good_end();
  CHECK(contains(told({1, 4, 4}, end), "problem  node n1 shows 2 of 4 GPUs"));
  CHECK(!contains(told({1, std::nullopt, 4}, end), "problem"));
  CHECK(contains(told({1, 2, 8}, end), "warning  node n1 lets the job use 4 of 8 cores"));
  CHECK(contains(told({2, 2, 4}, end), "1 of 2 nodes said nothing"));
  end.said[0].facts.gpus.reset();
  CHECK(contains(told({1, 2, 4}, end), "warning  node n1 has no nvidia-smi"));
}

TEST_CASE("a job that did not come so far says where it stopped") {
  ProbeEnd end;
  end.timed_out = true;
  end.state = "PENDING";
  end.reason = "Resources";
  CHECK(contains(told({}, end), "did not begin within 5 min 00 s (Slurm says PENDING, Resources) and was cancelled"));
  end.timed_out = false;
  end.state = "FAILED";
  CHECK(contains(told({}, end), "left no file in the results folder"));
  end.began = true;
  end.starts_status = 127;
  CHECK(contains(told({}, end), "/opt/hpcbench does not start"));
  CHECK(contains(told({}, end), "`hpcbench: PATH`"));
  end.starts_status = 0;
  end.job_status = 9;
  end.words = "no such module";
  CHECK(contains(told({}, end), "(exit status 9): no such module"));
}

TEST_CASE("a job on this machine says what works, and nothing of clocks and other nodes") {
  const auto told_here = [](const ProbeEnd& end) {
    Findings findings;
    find_in_probe_here(end, "/opt/hpcbench", 300, findings);
    return findings_text(findings);
  };
  ProbeEnd end = good_end();
  const std::string text = told_here(end);
  CHECK(contains(text, "probe on this machine: hpcbench starts"));
  CHECK(contains(text, "2 GPUs; 4 cores usable"));
  CHECK(!contains(text, "clock"));
  end.said.clear();
  end.nodes = "this machine";
  end.job_status = 9;
  end.words = "no license";
  CHECK(contains(told_here(end),
                 "problem  the probe: `modules`, `setup` or the launcher fail on this machine (exit status 9): no license"));
}

}  // namespace hpcbench
