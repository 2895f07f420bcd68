// Both are needed: the header is precompiled here, and the second macro implies the first only on a first inclusion.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
