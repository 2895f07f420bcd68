#include "store/store.hpp"

#include <doctest/doctest.h>

#include "records.hpp"

using namespace hpcbench;

TEST_CASE("a record goes in and comes out as it was") {
  Store store = Store::open(":memory:");
  CHECK_FALSE(store.rebuilt());
  const AttemptRecord record = full_record();
  store.put({record});
  const std::optional<AttemptRecord> read = record_of(store, "digits", record.key);
  REQUIRE(read);
  check_same(*read, record);
  CHECK(read->axes[1].second.text() == "5e-05");
  CHECK_FALSE(record_of(store, "digits", AttemptKey{"0a", {RunKind::repeat, 1}, 2}));
  CHECK_FALSE(record_of(store, "other", record.key));
}

TEST_CASE("putting again replaces, series and all") {
  Store store = Store::open(":memory:");
  AttemptRecord record = full_record();
  store.put({record});
  record.state = State::succeeded;
  record.reason.reset();
  record.node.reset();
  record.metrics = {{"wall_s", 3}};
  record.series = {{"loss", 7, 0.5}};
  store.put({record});
  check_same(*record_of(store, "digits", record.key), record);
  CHECK(store.attempts("digits").size() == 1);
}

TEST_CASE("states: sorted, without a record, and never over an outcome") {
  Store store = Store::open(":memory:");
  const AttemptKey first{"0a", {RunKind::repeat, 2}, 1};
  const AttemptKey second{"0a", {RunKind::repeat, 10}, 1};
  const AttemptKey warmup{"0a", {RunKind::warmup, 1}, 1};
  store.put_states("digits", {{warmup, State::intended}, {second, State::intended}, {first, State::intended}});
  std::vector<AttemptState> states = store.states("digits");
  REQUIRE(states.size() == 3);
  CHECK(states[0].key == first);
  CHECK(states[1].key == second);
  CHECK(states[2].key == warmup);
  store.put_states("digits", {{first, State::submitted}});
  CHECK(store.states("digits")[0].state == State::submitted);
  store.put_states("digits", {{first, State::succeeded}});
  store.put_states("digits", {{first, State::running}});
  CHECK(store.states("digits")[0].state == State::succeeded);
  store.put_states("digits", {{first, State::lost}});
  CHECK(store.states("digits")[0].state == State::lost);
  CHECK(store.states("other").empty());
}

TEST_CASE("states of one call take effect in its order, whatever the order of their keys") {
  Store store = Store::open(":memory:");
  // Equal in their first eight bytes, and shorter than these.
  const AttemptKey late{"0123456789abcdef", {RunKind::repeat, 1}, 1};
  const AttemptKey early{"0123456700000000", {RunKind::repeat, 1}, 1};
  const AttemptKey brief{"01", {RunKind::repeat, 1}, 1};
  store.put_states("digits", {{late, State::intended},
                              {early, State::intended},
                              {brief, State::intended},
                              {late, State::submitted},
                              {early, State::succeeded},
                              {early, State::running}});
  const std::vector<AttemptState> states = store.states("digits");
  REQUIRE(states.size() == 3);
  CHECK(states[0].key == brief);
  CHECK(states[0].state == State::intended);
  CHECK(states[1].key == early);
  CHECK(states[1].state == State::succeeded);
  CHECK(states[2].key == late);
  CHECK(states[2].state == State::submitted);
}

TEST_CASE("the attempt that counts is the highest that is not void; warm-ups never do") {
  Store store = Store::open(":memory:");
  const auto record = [](int run, int attempt, State state, std::optional<std::string> reason, RunKind kind = RunKind::repeat) {
    AttemptRecord made = full_record();
    made.key = {"0a", {kind, run}, attempt};
    made.state = state;
    made.is_void = reason == "void: doubtful";
    made.reason = std::move(reason);
    return made;
  };
  store.put({record(1, 1, State::failed, "x"), record(1, 2, State::succeeded, {}),
             record(1, 3, State::cancelled, "void: doubtful"), record(2, 1, State::cancelled, "cancelled before it began"),
             record(3, 1, State::cancelled, "void: doubtful"), record(4, 1, State::failed, "void: the word alone says nothing"),
             record(1, 1, State::succeeded, {}, RunKind::warmup), record(1, 1, State::succeeded, {}, RunKind::imported)});
  const std::vector<AttemptRecord> counting = store.counting_attempts("digits", true);
  REQUIRE(counting.size() == 4);
  CHECK(to_string(counting[0].key) == "0a/i01/a1");
  CHECK(to_string(counting[1].key) == "0a/r01/a2");
  CHECK(counting[1].series.size() == full_record().series.size());
  CHECK(to_string(counting[2].key) == "0a/r02/a1");
  CHECK(to_string(counting[3].key) == "0a/r04/a1");
  CHECK(store.counting_attempts("digits", false)[0].series.empty());
  std::vector<AttemptRecord> visited;
  store.visit_counting_attempts("digits", [&](AttemptRecord&& counts) { visited.push_back(std::move(counts)); });
  REQUIRE(visited.size() == 4);
  for (std::size_t i = 0; i < visited.size(); ++i) {
    AttemptRecord expected = counting[i];
    expected.axes.clear();
    expected.units = {};
    expected.facts = {};
    expected.warnings.clear();
    expected.series.clear();
    check_same(visited[i], expected);
  }
  int void_attempts = 0;
  for (const AttemptState& state : store.states("digits")) void_attempts += state.is_void ? 1 : 0;
  CHECK(void_attempts == 2);
}

TEST_CASE("forget and clear") {
  Store store = Store::open(":memory:");
  AttemptRecord record = full_record();
  store.put({record});
  record.key.attempt = 2;
  store.put({record});
  record.experiment = "squad";
  store.put({record});
  store.forget("digits", {full_record().key, AttemptKey{"ff", {}, 9}});
  CHECK(store.states("digits").size() == 1);
  store.clear("digits");
  CHECK(store.states("digits").empty());
  CHECK(store.attempts("squad").size() == 1);
  CHECK(store.attempts("squad")[0].series.size() == record.series.size());
  store.clear(std::nullopt);
  CHECK(store.attempts("squad").empty());
}
