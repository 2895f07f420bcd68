#include "base/host_list.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace hpcbench;

using Names = std::vector<std::string>;

TEST_CASE("lists of hosts as Slurm writes them") {
  CHECK(expand_host_list("n07") == Names{"n07"});
  CHECK(expand_host_list("n2,n1,m") == Names{"n2", "n1", "m"});
  CHECK(expand_host_list("n[07-10,20],m3") == Names{"n07", "n08", "n09", "n10", "n20", "m3"});
  CHECK(expand_host_list("a[1-2]b[2,5]-ib") == Names{"a1b2-ib", "a1b5-ib", "a2b2-ib", "a2b5-ib"});
  CHECK(expand_host_list("n[9-11]") == Names{"n9", "n10", "n11"});
}

TEST_CASE("what is no list of hosts has no names, and a huge one takes no memory") {
  for (const char* text : {"", ",", "n[1", "n[1-", "n[]", "n[a-b]", "n[3-1]", "n[-1]", "n[1-99999999999999999999]",
                           "n[0-65536]", "n[0-9999]m[0-9999]", "n[0-40000],m[0-40000]"}) {
    CAPTURE(text);
    CHECK(expand_host_list(text).empty());
  }
  CHECK(expand_host_list("n[0-65535]").size() == kMostHosts);
}
