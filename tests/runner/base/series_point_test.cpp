#include "base/series_point.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

using namespace hpcbench;

namespace {

std::vector<SeriesPoint> read(const std::string& json) {
  std::vector<SeriesPoint> points;
  read_points("rate", json, points);
  return points;
}

}  // namespace

TEST_CASE("points are written with their index, or the word that stands for it") {
  const std::map<std::string, std::string> json = series_json(
      {{"rate", 1, 0.5}, {"loss", -3, 2}, {"rate", 1, 7, "Tri\"ad"}, {"rate", 2, NAN, "gone"}, {"rate", 3, 1e300, "128K"}});
  CHECK(json ==
        std::map<std::string, std::string>{{"loss", "[[-3,2]]"}, {"rate", R"([[1,0.5],["Tri\"ad",7],["128K",1e+300]])"}});
}

TEST_CASE("what was written is read back, words numbered as they come") {
  const std::vector<SeriesPoint> points = read(R"([[1,0.5],["Tri\"ad",7],["a],[",-2],["",3]])");
  REQUIRE(points.size() == 4);
  CHECK(points[0].index == 1);
  CHECK(points[0].word.empty());
  CHECK(points[1].word == "Tri\"ad");
  CHECK(points[1].index == 1);
  CHECK(points[2].word == "a],[");
  CHECK(points[2].index == 2);
  CHECK(points[2].value == -2);
}

TEST_CASE("text that somebody changed ends the points") {
  CHECK(read("").empty());
  CHECK(read("[[").empty());
  CHECK(read("[[1").empty());
  CHECK(read("[[\"never ends,1]]").empty());
  CHECK(read("[[\"a\"").empty());
  CHECK(read("[[\"a\",x]]").empty());
  CHECK(read("[[1,2],[x,3],[4,5]]").size() == 1);
}
