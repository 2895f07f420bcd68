#include "base/name_map.hpp"

#include <doctest/doctest.h>

using namespace hpcbench;

TEST_CASE("a NameMap holds what a map holds, in its order") {
  NameMap<int> map = {{"b", 2}, {"a", 1}, {"b", 3}};
  CHECK(map == std::map<std::string, int>{{"a", 1}, {"b", 2}});
  CHECK(map.at("b") == 2);
  CHECK_THROWS_AS(map.at("c"), std::out_of_range);
  CHECK(map.lower_bound("aa")->first == "b");
  CHECK(map.lower_bound("c") == map.end());
  map["c"] += 4;
  map.erase("a");
  CHECK(map == NameMap<int>{{"b", 2}, {"c", 4}});
  map.erase_if([](const auto& each) { return each.second > 2; });
  CHECK(map.size() == 1);
}
