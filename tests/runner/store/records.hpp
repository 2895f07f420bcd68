#pragma once

#include <doctest/doctest.h>

#include <optional>

#include "ingest/attempt_record.hpp"
#include "store/store.hpp"

namespace hpcbench {

/// A record in which every field has a value.
inline AttemptRecord full_record() {
  AttemptRecord record;
  record.experiment = "digits";
  record.key = {"0a", {RunKind::repeat, 1}, 1};
  record.axes = {{"strategy", Value::from_text("ddp")},
                 {"lr", Value::from_plain("5e-05")},
                 {"flag", Value::from_boolean(true)},
                 {"number as text", Value::from_text("2")}};
  record.gpus = 2;
  record.state = State::failed;
  record.reason = "rank 1 failed: \"quoted\"\n\xC3\xA9";
  record.executor = "local";
  record.job = "4711_2";
  record.batch = "00ff00ff00ff00ff";
  record.node = "n1,n2";
  record.nodes = "n1,n2,n3";
  record.exit_code = 3;
  record.signal = 9;
  record.intended_unix_s = 1700000000.125;
  record.started_unix_s = 1700000001.5;
  record.finished_unix_s = 1700000002.75;
  record.time_limit_s = 120;
  record.metrics = {{"tiny", 5e-324}, {"train_s", 0.1}, {"wall_s", 1e300}};
  record.units = {{"t", "ms"}};
  record.series = {{"loss", 1, 0.3}, {"loss", 2, 0.2}, {"train_loss", 1, 1e-7}};
  record.facts = {{"precision", "fp32"}, {"quote \"", "a\\b"}};
  record.warnings = {"events.jsonl:17: not JSON", ""};
  record.rules = "0123456789ab";
  return record;
}

inline bool same_series(const std::vector<SeriesPoint>& a, const std::vector<SeriesPoint>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || a[i].index != b[i].index || a[i].value != b[i].value) return false;
  }
  return true;
}

inline bool same_record(const AttemptRecord& a, const AttemptRecord& b) {
  return a.experiment == b.experiment && a.key == b.key && a.axes == b.axes && a.gpus == b.gpus && a.state == b.state &&
         a.reason == b.reason && a.executor == b.executor && a.job == b.job && a.batch == b.batch && a.node == b.node &&
         a.nodes == b.nodes && a.exit_code == b.exit_code && a.signal == b.signal && a.intended_unix_s == b.intended_unix_s &&
         a.started_unix_s == b.started_unix_s && a.finished_unix_s == b.finished_unix_s && a.time_limit_s == b.time_limit_s &&
         a.metrics == b.metrics && a.units == b.units && same_series(a.series, b.series) && a.facts == b.facts &&
         a.warnings == b.warnings && a.rules == b.rules;
}

/// The record of one attempt; none: it is not in the index.
inline std::optional<AttemptRecord> record_of(const Store& store, const std::string& experiment, const AttemptKey& key) {
  for (const AttemptRecord& record : store.attempts(experiment)) {
    if (record.key == key) return record;
  }
  return std::nullopt;
}

inline void check_same(const AttemptRecord& a, const AttemptRecord& b) {
  CHECK(a.reason == b.reason);
  CHECK(a.metrics == b.metrics);
  CHECK(a.facts == b.facts);
  CHECK(a.warnings == b.warnings);
  CHECK(same_series(a.series, b.series));
  CHECK(same_record(a, b));
}

}  // namespace hpcbench
