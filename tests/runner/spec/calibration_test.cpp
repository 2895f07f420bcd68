// `allocation: {calibrate: true}`: the axis that it adds, whatever the points are written as. What is refused:
// tests/golden/spec/allocation_calibrate*.yaml.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "fakes/example_experiment.hpp"
#include "spec/read_experiment.hpp"

using namespace hpcbench;

namespace {

Experiment calibrated(const std::string& points, const ReadOptions& options = {}) {
  return parse_experiment(
      "experiment: x\ncommand: [prog, \"{{k}}\"]\nallocation: {per: block, side_by_side: 2, calibrate: true}\n" + points,
      "c.yaml", options);
}

}  // namespace

TEST_CASE("calibrate: the last axis of the matrix is packed or alone, and reaches no program without a note") {
  const Experiment experiment = calibrated("matrix: {k: [1, 2]}\nbaseline: {k: 1, placement: alone}\n");
  CHECK(experiment.calibrates());
  REQUIRE(experiment.matrix.size() == 2);
  CHECK(experiment.matrix[1].name == kPlacementAxis);
  CHECK(experiment.matrix[1].values == plain_values({"packed", "alone"}));
  CHECK(experiment.origins.at("matrix.placement") == experiment.origins.at("allocation.calibrate"));
  CHECK(experiment.notes.empty());
  CHECK(calibrated("zip: [{k: [1, 2]}]\n").matrix.front().name == kPlacementAxis);
}

TEST_CASE("calibrate: each point of include stands twice") {
  const Experiment alone = calibrated("include: [{k: 1}, {k: 2}]\n");
  CHECK(alone.matrix.empty());
  CHECK(alone.include == std::vector<Bindings>{plain_bindings({{"k", "1"}, {"placement", "packed"}}),
                                               plain_bindings({{"k", "1"}, {"placement", "alone"}}),
                                               plain_bindings({{"k", "2"}, {"placement", "packed"}}),
                                               plain_bindings({{"k", "2"}, {"placement", "alone"}})});
  CHECK(calibrated("matrix: {k: [1, 2]}\ninclude: [{k: 3}]\n").include.size() == 2);
}

TEST_CASE("calibrate: a profile or --set brings it, and takes it away with what names its axis") {
  const Experiment plain = calibrated("matrix: {k: [1, 2]}\ninclude: [{k: 3}]\nbaseline: {k: 1, placement: alone}\n",
                                      {.profile = {}, .site = {}, .settings = {"allocation.calibrate=false"}});
  CHECK_FALSE(plain.calibrates());
  CHECK(plain.matrix.size() == 1);
  CHECK(plain.include.size() == 1);
  CHECK(plain.baseline.empty());
  const std::string text =
      "experiment: x\ncommand: [prog, \"{{k}}\"]\nallocation: {per: block, side_by_side: 2}\nmatrix: {k: [1, 2]}\n"
      "include: [{k: 3}]\nprofiles: {both: {allocation: {calibrate: true}}}\n";
  const Experiment profile = parse_experiment(text, "c.yaml", {.profile = "both", .site = {}, .settings = {}});
  CHECK(profile.calibrates());
  CHECK(profile.matrix.size() == 2);
  CHECK(profile.include.size() == 2);
  CHECK(parse_experiment(text, "c.yaml", {}).matrix.size() == 1);
}

TEST_CASE("calibrate: fewer than six repeats have a note with what to write") {
  const Experiment few = calibrated("matrix: {k: [1, 2]}\nrepeats: 5\n");
  REQUIRE(few.notes.size() == 1);
  CHECK(few.notes[0].starts_with("c.yaml:3:54: with `repeats: 5` the disturbance"));
  CHECK(few.notes[0].ends_with("write `repeats: 6`"));
}

TEST_CASE("calibrate: the axis is none of the trainer's settings") {
  const Experiment experiment = parse_experiment(
      "experiment: x\ntrainer: mnist_rnn\nmatrix: {strategy: [baseline]}\n"
      "allocation: {per: block, side_by_side: 2, calibrate: true}\n",
      "c.yaml", {});
  CHECK(experiment.matrix.size() == 2);
}
