#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "records.hpp"
#include "store/store.hpp"

using namespace hpcbench;

namespace {

/// Text of any characters that JSON and SQLite must keep: quotes, controls, NUL, UTF-8.
rc::Gen<std::string> any_text() {
  return rc::gen::map(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 0x130)), [](const std::vector<int>& codes) {
    std::string text;
    for (const int code : codes) {
      if (code >= 0x80) text += static_cast<char>(0xC0 | (code >> 6));
      text += static_cast<char>(code < 0x80 ? code : 0x80 | (code & 0x3F));
    }
    return text;
  });
}

rc::Gen<double> any_number() {
  return rc::gen::map(rc::gen::pair(rc::gen::arbitrary<double>(), rc::gen::inRange(-300, 300)),
                      [](const std::pair<double, int>& parts) {
                        const double number = parts.first * std::pow(10.0, parts.second);
                        return std::isfinite(number) ? number : parts.first;
                      });
}

template <class T>
std::optional<T> maybe(rc::Gen<T> gen) {
  return *rc::gen::arbitrary<bool>() ? std::optional<T>(*gen) : std::nullopt;
}

AttemptRecord any_record() {
  AttemptRecord record;
  record.experiment = *any_text();
  record.key = {*any_text(),
                {*rc::gen::element(RunKind::imported, RunKind::repeat, RunKind::warmup), *rc::gen::positive<int>()},
                *rc::gen::positive<int>()};
  for (const std::string& name : *rc::gen::container<std::vector<std::string>>(any_text())) {
    record.axes.emplace_back(name, *rc::gen::arbitrary<bool>()
                                       ? Value::from_text(*any_text())
                                       : Value::from_plain(std::to_string(*rc::gen::arbitrary<int>()) + ".50"));
  }
  record.gpus = *rc::gen::positive<int>();
  record.state = *rc::gen::elementOf(std::vector<State>(kStates.begin(), kStates.end()));
  record.reason = maybe(any_text());
  record.executor = *any_text();
  record.job = maybe(any_text());
  record.exit_code = maybe(rc::gen::arbitrary<int>());
  record.started_unix_s = maybe(any_number());
  record.metrics = *rc::gen::container<std::map<std::string, double>>(any_text(), any_number());
  record.units = *rc::gen::container<std::map<std::string, std::string>>(any_text(), any_text());
  record.facts = *rc::gen::container<std::map<std::string, std::string>>(any_text(), any_text());
  record.warnings = *rc::gen::container<std::vector<std::string>>(any_text());
  for (const auto& [name, value] : record.metrics) {
    record.series.push_back({name, *rc::gen::arbitrary<long long>(), value});
    record.series.push_back({name, 2, -value});
  }
  return record;
}

}  // namespace

TEST_CASE("whatever a record holds, the index gives it back") {
  CHECK(rc::check("record -> put -> attempt", [] {
    Store store = Store::open(":memory:");
    const AttemptRecord record = any_record();
    store.put({full_record(), record});
    const std::optional<AttemptRecord> read = record_of(store, record.experiment, record.key);
    RC_ASSERT(read.has_value());
    RC_ASSERT(same_record(*read, record));
    const std::vector<AttemptRecord> all = store.attempts(record.experiment);
    RC_ASSERT(all.size() == 1U);
    RC_ASSERT(same_record(all[0], record));
  }));
}

TEST_CASE("numbers that are none are left out") {
  Store store = Store::open(":memory:");
  AttemptRecord record = full_record();
  record.metrics = {{"a", NAN}, {"b", INFINITY}, {"c", 1}};
  record.series = {{"a", 1, NAN}, {"c", 1, 2}};
  record.time_limit_s = INFINITY;
  store.put({record});
  const AttemptRecord read = *record_of(store, "digits", record.key);
  CHECK(read.metrics == std::map<std::string, double>{{"c", 1}});
  CHECK(read.series.size() == 1);
  CHECK_FALSE(read.time_limit_s);
}
