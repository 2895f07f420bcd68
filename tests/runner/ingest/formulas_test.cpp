// Formulas and requirements of one run: what they may name, and what happens where a name has no value.
#include "ingest/formulas.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "ingest/reading.hpp"

namespace hpcbench {

namespace {

Metric formula_spec(const std::string& name, const std::string& text) {
  Metric spec;
  spec.name = name;
  spec.selector = text;
  spec.source = "formula";
  return spec;
}

RunInfo info_with(const std::vector<std::pair<std::string, std::string>>& formulas) {
  RunInfo info;
  for (const auto& [name, text] : formulas) info.metrics.push_back(formula_spec(name, text));
  info.formula_names.parameters = {{"sequence", Value::from_plain("2048")}};
  info.formula_names.derived = {{"dp", "gpus // tp"}, {"shards", "dp * 10"}};
  return info;
}

AttemptRecord measured() {
  AttemptRecord record;
  record.axes = {{"tp", Value::from_plain("2")}, {"system", Value::from_text("a100")}};
  record.gpus = 8;
  record.metrics = {{"iteration_ms", 500}, {"big", 4e18}, {"zero", 0}};
  return record;
}

}  // namespace

TEST_CASE("formulas: metrics, axes, parameters, derived values and other formulas, in any order") {
  const RunInfo info = info_with({{"per_gpu", "tokens_per_s / gpus"},
                                  {"tokens_per_s", "sequence * 1000 / iteration_ms"},
                                  {"derived", "shards + tp"},
                                  {"large", "big * 6"}});
  AttemptRecord record = measured();
  compute_formulas(info, record, true);
  CHECK(record.metrics.at("tokens_per_s") == 4096);
  CHECK(record.metrics.at("per_gpu") == 512);
  CHECK(record.metrics.at("derived") == 42);
  CHECK(record.metrics.at("large") == 2.4e19);  // what was measured is no 64-bit integer
  CHECK(record.places.at("per_gpu") == "formula tokens_per_s / gpus");
  CHECK(record.warnings.empty());
}

TEST_CASE("formulas: what has no value leaves none, and the record says why") {
  const RunInfo info = info_with({{"a", "absent + 1"},
                                  {"b", "a * 2"},
                                  {"c", "iteration_ms / zero"},
                                  {"d", "iteration_ms > 3"},
                                  {"e", "e + 1"},
                                  {"f", "iteration_ms +"}});
  AttemptRecord record = measured();
  record.metrics["a"] = 7;  // as events gave it
  compute_formulas(info, record, true);
  CHECK(record.metrics.size() == 3);
  CHECK(join(record.warnings, "\n") ==
        "metric a: absent has no value, in the formula absent + 1\n"
        "metric b: a has no value, in the formula a * 2\n"
        "metric c: division by zero, in the formula iteration_ms / zero\n"
        "metric d: it gives true or false, in the formula iteration_ms > 3\n"
        "metric e: e has no value, in the formula e + 1\n"
        "metric f: the expression ends where a value is needed, in the formula iteration_ms +");
  AttemptRecord silent = measured();
  compute_formulas(info, silent, false);
  CHECK(silent.warnings.empty());
}

TEST_CASE("requirements: the first that does not hold, or that names what is absent") {
  RunInfo info = info_with({});
  const auto broken = [&](const std::string& requirement) {
    info.success_require = {"iteration_ms < 1000", requirement};
    return broken_requirement(info, measured());
  };
  CHECK_FALSE(broken("zero == 0 and system == 'a100'"));
  CHECK(broken("iteration_ms < 300") == "success requires iteration_ms < 300, and iteration_ms is 500");
  CHECK(broken("tp > 2") == "success requires tp > 2, which is false");
  CHECK(broken("val_loss < 3 or tp == 2") == "success requires val_loss < 3 or tp == 2: val_loss has no value");
  CHECK(broken("iteration_ms + 1") == "success requires iteration_ms + 1, which is neither true nor false");
}

TEST_CASE("formulas: reading.json and run.json keep them and what they name") {
  const RunInfo info = info_with({{"a", "sequence * dp"}});
  ReadingRules rules = rules_of(info);
  rules.success_require = {"a < 3"};
  CHECK(rules_json(rules) ==
        R"({"metrics":[{"name":"a","file":"","formula":"sequence * dp","unit":"","series":false}],)"
        R"("success":{"exit_code":0,"pattern":null,"require":["a < 3"]},)"
        R"("formulas":{"parameters":{"sequence":2048},"derived":{"dp":"gpus // tp","shards":"dp * 10"}}})");
  Reading reading;
  reading.rules = {{rules_hash(rules), rules}};
  reading.usual = rules_hash(rules);
  CHECK(reading_json(parse_reading(reading_json(reading))) == reading_json(reading));
}

}  // namespace hpcbench
