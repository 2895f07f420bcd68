#include "stats/fits.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace hpcbench;

// Values to compare with: scipy.optimize.curve_fit and brentq of SciPy 1.17.1.

TEST_CASE("Amdahl: exact points give their serial fraction back") {
  for (const double s : {0.0, 0.03, 0.5, 1.0, -0.01}) {
    CAPTURE(s);
    std::vector<ScalingPoint> points;
    for (const int p : {1, 2, 4, 16}) points.push_back({p, amdahl_speedup(s, p)});
    const auto fit = fit_amdahl(points);
    REQUIRE(fit);
    CHECK(fit->serial_fraction == doctest::Approx(s).epsilon(1e-9));
    CHECK(fit->residual_rms < 1e-7);
    CHECK(fit->degrees_of_freedom == 2);
  }
}

TEST_CASE("ideal points that went through logarithms have no serial fraction and no residuals") {
  const std::vector<ScalingPoint> points = {{1, 1}, {2, 2.0000000000000004}, {3, 2.9999999999999996}, {8, 7.999999999999999}};
  for (const auto& fit : {fit_amdahl(points), fit_gustafson(points)}) {
    REQUIRE(fit);
    CHECK(fit->serial_fraction == 0);
    CHECK(fit->residual_rms == 0);
  }
}

TEST_CASE("Amdahl: least squares in the speedups") {
  const auto fit = fit_amdahl({{1, 1}, {2, 1.9}, {4, 3.4}, {8, 5.6}});
  REQUIRE(fit);
  CHECK(fit->serial_fraction == doctest::Approx(0.0609784847).epsilon(1e-8));
  CHECK(fit->residual_rms == doctest::Approx(0.0175267836).epsilon(1e-8));
  CHECK(fit->fitted[3] == doctest::Approx(5.60675853).epsilon(1e-8));
  const auto superlinear = fit_amdahl({{1, 1}, {2, 2.1}, {4, 4.3}, {8, 8.9}});
  REQUIRE(superlinear);
  CHECK(superlinear->serial_fraction == doctest::Approx(-0.0147862616).epsilon(1e-8));
}

TEST_CASE("Gustafson: least squares, in closed form") {
  const auto fit = fit_gustafson({{1, 1}, {2, 1.9}, {4, 3.6}, {8, 6.8}});
  REQUIRE(fit);
  CHECK(fit->serial_fraction == doctest::Approx(0.16440677966).epsilon(1e-10));
  CHECK(fit->residual_rms == doctest::Approx(0.0873333765).epsilon(1e-8));
  CHECK(gustafson_speedup(0.1, 8) == doctest::Approx(7.3));
}

TEST_CASE("a fit needs three distinct numbers of gpus, one of them 1: repeats are no degrees of freedom") {
  CHECK_FALSE(fit_amdahl({}));
  CHECK_FALSE(fit_amdahl({{1, 1}, {2, 1.9}}));
  CHECK_FALSE(fit_amdahl({{1, 1}, {2, 1.9}, {2, 1.8}, {2, 1.7}}));
  CHECK_FALSE(fit_amdahl({{2, 1.9}, {4, 3.4}, {8, 5.6}}));
  CHECK_FALSE(fit_amdahl({{1, 1}, {2, 0}, {4, 3}}));
  CHECK_FALSE(fit_amdahl({{1, 1}, {2, std::nan("")}, {4, 3}}));
  CHECK_FALSE(fit_gustafson({{1, 1}, {4, 3}}));
}

TEST_CASE("two placements of one number of gpus share the weight of one") {
  const auto once = fit_amdahl({{1, 1}, {2, 1.8}, {4, 3.0}});
  const auto twice = fit_amdahl({{1, 1}, {2, 1.8}, {2, 1.8}, {4, 3.0}, {4, 3.0}});
  REQUIRE(once);
  REQUIRE(twice);
  CHECK(twice->serial_fraction == doctest::Approx(once->serial_fraction).epsilon(1e-12));
  CHECK(twice->residual_rms == doctest::Approx(once->residual_rms).epsilon(1e-9));
  CHECK(twice->degrees_of_freedom == 1);
  CHECK(twice->fitted.size() == 5);
}
