// How long a job may be: what Slurm's tools say.
#include "executors/slurm/slurm_limits.hpp"

#include <doctest/doctest.h>

namespace hpcbench {

namespace {

TEST_CASE("limits: the longest job of the partitions that a job may go to") {
  const auto known = parse_partitions(
      "PartitionName=main Default=YES MaxTime=UNLIMITED TotalNodes=4\nPartitionName=short MaxTime=00:05:00 TotalNodes=4\n"
      "PartitionName=long MaxTime=1-00:00:00 TotalNodes=4\n");
  CHECK_FALSE(longest_job(known, std::nullopt));  // the default one has no limit
  REQUIRE(longest_job(known, "short"));
  CHECK(longest_job(known, "short")->seconds == 300);
  CHECK(longest_job(known, "short")->whose == "MaxTime of partition `short`");
  CHECK(longest_job(known, "short,long")->seconds == 86400);  // it may begin in either
  CHECK(longest_job(known, "long,short")->whose == "MaxTime of partition `long`");
  CHECK_FALSE(longest_job(known, "short,main"));
  CHECK_FALSE(longest_job(known, "unknown"));
  CHECK_FALSE(longest_job({}, std::nullopt));
}

TEST_CASE("limits: MaxWall of a QOS") {
  CHECK(parse_max_wall("tight|00:10:00\n", "tight") == 600);
  CHECK(parse_max_wall("normal|\ntight|2-00:00:00\n", "tight") == 172800);
  CHECK_FALSE(parse_max_wall("tight|\n", "tight"));
  CHECK_FALSE(parse_max_wall("normal|00:10:00\n", "tight"));
  CHECK_FALSE(parse_max_wall("sacctmgr: error: no such thing\n", "tight"));
}

}  // namespace

}  // namespace hpcbench
