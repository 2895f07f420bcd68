#include "ingest/json_text.hpp"
#include <doctest/doctest.h>
TEST_CASE("x"){}
