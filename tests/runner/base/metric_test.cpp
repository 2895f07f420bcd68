// Which values of a metric are better, by its unit, its name and `better`.
#include "base/metric.hpp"

#include <doctest/doctest.h>

using namespace hpcbench;

namespace {

/// `higher work per gpus`: the kind in words; `-` where nothing is known.
std::string kind_text(const std::string& name, const std::string& unit, std::optional<Better> declared = std::nullopt) {
  const MetricKind kind = kind_of_metric(name, unit, declared);
  if (!kind.better) return "-";
  return to_string(*kind.better) + (kind.scales ? kind.counts_work ? " work" : " steps" : "") +
         (kind.per.empty() ? "" : " per " + kind.per);
}

}  // namespace

TEST_CASE("the unit of a metric says which values are better") {
  for (const char* unit : {"tokens/s", "GB/s", "TFLOP/s", "TFLOPS", "samples/sec", "images / min", "cells/h", "Gbps", "IOPS"})
    CHECK_MESSAGE(kind_text("x", unit) == "higher work", unit);
  for (const char* unit : {"ns/day", "it/s", "steps/s", "1/s", "years/day"})
    CHECK_MESSAGE(kind_text("x", unit) == "higher steps", unit);
  for (const char* unit : {"s", "ms", "us", "\u00b5s", "min", "h", "s/step", "ms/it", "days/ns", "usec", "msec", "Sec"})
    CHECK_MESSAGE(kind_text("x", unit) == "lower steps", unit);
  CHECK(kind_text("x", "s/token") == "lower work");
  for (const char* unit : {"tokens/s/GPU", "tokens/GPU/s", "TFLOP/s/device", "TFLOPS/GPU"})
    CHECK_MESSAGE(kind_text("x", unit) == "higher work per gpus", unit);
  CHECK(kind_text("x", "GB/s/node") == "higher work per nodes");
  CHECK(kind_text("x", "it/s/rank") == "higher steps per ranks");
  for (const char* unit : {"", "%", "bytes", "J", "MiB/GPU", "tokens", "s/day", "C"})
    CHECK_MESSAGE(kind_text("x", unit) == "-", unit);
}

TEST_CASE("without such a unit the name says it") {
  CHECK(kind_text("tokens_per_s", "") == "higher work");
  CHECK(kind_text("train_tokens_per_s_median", "") == "higher work");
  CHECK(kind_text("tokens_per_s_per_gpu", "") == "higher work per gpus");
  CHECK(kind_text("latency_usec", "") == "lower steps");
  CHECK(kind_text("ns_per_day", "") == "higher steps");
  CHECK(kind_text("days_per_ns", "") == "lower steps");
  CHECK(kind_text("s_per_step", "") == "lower steps");
  CHECK(kind_text("latency_per_op_us", "") == "lower steps");
  CHECK(kind_text("train_s", "") == "lower steps");
  for (const char* name : {"accuracy", "val_loss", "bytes_sent_per_step", "energy_wh_per_sample", "s", "loss_min", "gpus"})
    CHECK_MESSAGE(kind_text(name, "") == "-", name);
  // Rates or times: a guess would invert gates.
  for (const char* name : {"images_s", "bw_mb_s", "load_images_s", "req_sec"}) CHECK_MESSAGE(kind_text(name, "") == "-", name);
  CHECK(kind_text("kept_steps_s", "") == "lower steps");
  CHECK(kind_text("tokens_per_s", "%") == "-");
}

TEST_CASE("`better` of a metric wins") {
  CHECK(kind_text("errors", "errors/s", Better::lower) == "lower");
  CHECK(kind_text("accuracy", "%", Better::higher) == "higher");
  CHECK(kind_text("fom", "", Better::higher) == "higher work");
  CHECK(kind_text("fom_per_gpu", "", Better::higher) == "higher work per gpus");
  CHECK(kind_text("fom", "GFOM/GPU", Better::higher) == "higher work per gpus");
  CHECK(kind_text("memory", "MiB/GPU", Better::lower) == "lower");
  CHECK(kind_text("train_s", "s/GPU") == "lower steps");
  CHECK(kind_text("energy", "J", Better::lower) == "lower");
  CHECK(kind_text("x", "tokens/s/GPU", Better::higher) == "higher work per gpus");
}
