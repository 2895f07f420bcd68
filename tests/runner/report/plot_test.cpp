#include "report/plots/plot.hpp"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "base/url.hpp"
#include "fakes/checks.hpp"
#include "report/escapes.hpp"
#include "report/plots/plot_parts.hpp"
#include "runner/report/study.hpp"

using namespace hpcbench;

namespace {

std::optional<Plot> plot_of(const Table& table, const std::string& kind) {
  for (const PlotKind& known : plot_kinds()) {
    if (known.name == kind) return known.draw(table);
  }
  FAIL("no such kind: " << kind);
  return std::nullopt;
}

/// A table with something for each kind of plot.
Table full_table(bool reversed = false) {
  MadeStudy study = clean_study();
  if (reversed) std::reverse(study.records.begin(), study.records.end());
  Table table = study.table();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    Row& row = table.rows[i];
    row.times.phases = {1, 0.5, 10, 2, std::nullopt, 3};
    row.losses.curve = {{1, 6, 1.6, 1.11, 5}, {2, 6, 0.33, 1.43, 5}};
    row.times.ranks = {{0, 6, {}, 10, {}, {}}, {1, 6, {}, 12, {}, {}}};
    for (std::size_t k = 0; k < row.runs.size(); ++k) {
      row.runs[k].started_unix_s = 1000 + 100 * static_cast<double>(k);
      row.runs[k].finished_unix_s = 1090 + 100 * static_cast<double>(k);
    }
  }
  table.inner = InnerAxis{"size", Value::from_integer(8)};
  for (const Row& row : table.rows) {
    for (const long long size : {1, 8, 64}) {
      Row inner = row;
      inner.axes.emplace_back("size", Value::from_integer(size));
      for (double* value : {&inner.summary->median, &inner.summary->interval->low, &inner.summary->interval->high})
        *value *= static_cast<double>(size);
      table.inner_rows.push_back(inner);
    }
  }
  return table;
}

}  // namespace

TEST_CASE("each kind draws where there is something to draw, the same bytes for the same runs in another order") {
  const Table table = full_table();
  const Table reversed = full_table(true);
  for (const PlotKind& kind : plot_kinds()) {
    CAPTURE(kind.name);
    const std::optional<Plot> plot = kind.draw(table);
    REQUIRE(plot);
    CHECK(plot->name == kind.name);
    const std::optional<Plot> again = kind.draw(reversed);
    REQUIRE(again);
    CHECK(plot->data == again->data);
    CHECK(plot->script == again->script);
    CHECK(contains(plot->script, "set output '" + kind.name + ".svg'"));
    CHECK(contains(plot->script, "'" + kind.name + ".tsv'"));
    CHECK_FALSE(kind.draw(empty_study().table()));
  }
}

TEST_CASE("speedup: points, intervals and the ideal line of the study") {
  const Plot plot = *plot_of(full_table(), "speedup");
  CHECK(contains(plot.data, "# strategy=baseline\n1\t0.9727\t1\t1\t1\tstrategy=baseline, gpus_per_node=1\n"));
  CHECK(contains(plot.data, "\n2\t2.0562\t1.985865547269246"));  // as tests/runner/stats has it
  CHECK(contains(plot.script, "x/1 title 'ideal'"));
  CHECK(contains(plot.script, "set xtics ('1' 1, '2' 2)"));
}

TEST_CASE("weak scaling is ideal where the time stays the same") {
  Table table = full_table();
  table.is_flat = true;
  CHECK(contains(plot_of(table, "speedup")->script, "  1 title 'ideal'"));
}

TEST_CASE("time: medians, intervals, every run, and what became of the others") {
  Table table = full_table();
  table.rows[1].counts.outcomes = {{State::succeeded, 5}, {State::out_of_memory, 1}};
  const Plot plot = *plot_of(table, "time");
  CHECK(contains(plot.data, "0\t12.5\t10\t15\tstrategy=baseline, gpus_per_node=1\n"));
  CHECK(std::count(plot.data.begin(), plot.data.end(), '\n') == 1 + 2 + 2 + 1 + 12);
  CHECK(contains(plot.script, "'n=6, 1 out_of_memory' at graph 1.01, first 1"));
}

TEST_CASE("time: negative values have their place, and the farthest doubles a range") {
  MadeStudy study = clean_study();
  set_metric(study, 0, "train_loss", {-76.1, -76.2, -76.1, -76, -76.3, -76.1});
  study.experiment.report.metric = "train_loss";
  CHECK(contains(plot_of(study.table(), "time")->script, "set xrange [-80.878:0.265]\n"));
  study.records[6].metrics["train_loss"] = 1.7e308;
  CHECK(contains(plot_of(study.table(), "time")->script, ":1e+300]\n"));
}

TEST_CASE("phases lie end to end, communication inside training") {
  const Plot plot = *plot_of(full_table(), "phases");
  CHECK(contains(plot.data, "\n0\t0\t1\t1\t1.5\t1.5\t11.5\t11.5\t13.5\t13.5\t13.5\t1.5\t4.5\t"));
}

TEST_CASE("timeline: from the first start; runs that overlap stand in lanes") {
  Table table = full_table();
  table.rows[0].runs[1].started_unix_s = 1050;
  table.rows[1].runs[0].outcome = State::timeout;
  const Plot plot = *plot_of(table, "timeline");
  CHECK(contains(plot.data, "# succeeded\n0\t1.5\t-0.4000\t-0.0320\tr01\t"));  // minutes; the upper of two lanes
  CHECK(contains(plot.data, "0.833333\t3.16667\t0.0000\t0.3680\tr02\t"));
  CHECK(contains(plot.data, "\n\n# timeout\n0\t1.5\t0.6000\t1.3360\tr01\t"));
}

TEST_CASE("rows: a line for each configuration over the inner axis, wide ranges on logarithmic axes") {
  Table table = full_table();
  table.time_unit = "min";
  for (Row& row : table.inner_rows) row.summary->median *= 60;
  const Plot plot = *plot_of(table, "rows");
  CHECK(plot.title == "digits: train_s by size");
  CHECK(contains(plot.data, "# size\ttrain_s (median)\t"));
  CHECK(contains(plot.data, "\n8\t100\t"));  // 12.5 x 8
  CHECK(contains(plot.data, "\n\n\n# "));
  CHECK(contains(plot.script, "set xlabel 'size' noenhanced"));
  CHECK(contains(plot.script, "set ylabel 'train_s (min)' noenhanced"));
  CHECK(contains(plot.script, "set logscale x 2"));
  CHECK(contains(plot.script, "set logscale y 10"));
  std::erase_if(table.inner_rows, [](const Row& row) { return row.axes.back().second.text() == "64"; });
  for (Row& row : table.inner_rows) row.axes.back().second = Value::from_integer(row.axes.back().second.text() == "1" ? 3 : 4);
  for (Row& row : table.inner_rows) row.summary = Summary{3, 5, 5, 5, 5, 5, std::nullopt};
  const Plot narrow = *plot_of(table, "rows");
  CHECK_FALSE(contains(narrow.script, "logscale"));
  CHECK(contains(narrow.data, "\n4\t0.08333333333333333\t0.08333333333333333\t"));
}

TEST_CASE("imbalance: each rank against the mean") {
  const Plot plot = *plot_of(full_table(), "imbalance");
  CHECK(contains(plot.data, "-0.2500\t0.909091\t0\tuser_s\t"));
  CHECK(contains(plot.script, "'user_s, 2 ranks, worst 1.091'"));
}

TEST_CASE("loss: both curves of each row") {
  const Plot plot = *plot_of(full_table(), "loss");
  CHECK(contains(plot.data, "1\t1.6\t1.11\t6\n2\t0.33\t1.43\t6\n"));
  CHECK(contains(plot.script, "title 'ddp, 2, validation'"));
  CHECK(contains(plot.script, "set key title 'strategy, gpus_per_node' noenhanced"));
}

TEST_CASE("loss: begins at epoch 0 where the data does") {
  Table table = full_table();
  CHECK(contains(plot_of(table, "loss")->script, "set xrange [0.94:2.08]"));
  for (Row& row : table.rows) {
    if (!row.losses.curve.empty()) row.losses.curve.insert(row.losses.curve.begin(), EpochPoint{0, 6, 2.3, 2.4, std::nullopt});
  }
  const Plot plot = *plot_of(table, "loss");
  CHECK(contains(plot.data, "0\t2.3\t2.4\t6\n1\t1.6\t1.11\t6\n"));
  CHECK(contains(plot.script, "set xrange [-0.06:2.08]"));
}

TEST_CASE("labels hold what differs, without names, and are never the same") {
  MadeStudy study = empty_study();
  study.plan.configurations.clear();
  study.experiment.baseline.clear();
  study.plan.axes = {"nodes", "gpus_per_node", "data", "lr"};
  study.plan.varied = {"gpus_per_node", "data", "lr"};
  const std::string folder = "/scratch/of/a/project/with/a/very/long/name/and/many/folders/below/it/";
  for (const std::string& data : {folder + "small.bin", folder + "large.bin"}) {
    for (const std::string lr : {"0.1", "0.2"}) study.add_run(study.add_configuration({"1", "2", data, lr}), 1, 10, 0);
  }
  const Plot plot = *plot_of(study.table(), "time");
  CHECK(contains(plot.script, "set ytics scale 0 noenhanced ('…small.bin, 0.1' 0, '…small.bin, 0.2' 1, '…large.bin, 0.1' 2"));
  CHECK(contains(plot.script, "'data, lr' at screen 0"));  // whose values these are
  CHECK(contains(plot.data, "gpus_per_node=2, data=" + folder + "large.bin, lr=0.2\n"));
  study.plan.configurations.clear();
  study.records.clear();
  for (const std::string end : {"x", "y"}) {
    const std::string text = std::string(40, 'a') + end + std::string(60, 'b');
    study.add_run(study.add_configuration({"1", "2", text, "0.1"}), 1, 10, 0);
  }
  const std::string cut = std::string(31, 'a') + "…" + std::string(16, 'b');
  CHECK(contains(plot_of(study.table(), "time")->script, "('" + cut + " (1)' 0, '" + cut + " (2)' 1)"));
}

TEST_CASE("a size zipped to the gpus: one series, however long its name") {
  MadeStudy study = empty_study();
  study.plan.configurations.clear();
  study.experiment.report.scaling = Scaling::weak;
  study.experiment.baseline = {{"gpus_per_node", {Value::from_plain("1")}}};
  study.experiment.zip = {{{"gpus_per_node", {}}, {"n", {}}}};
  study.plan.axes = {"nodes", "gpus_per_node", "n", "network"};
  study.plan.varied = {"gpus_per_node", "n", "network"};
  const std::string name(60, 'x');
  for (const std::string& network : {name + "1" + name, name + "2" + name}) {
    for (const std::string gpus : {"1", "2", "4"})
      study.add_runs(study.add_configuration({"1", gpus, gpus + "00", network}), {10, 11, 12, 13, 14, 15}, 0, 1);
  }
  const Plot plot = *plot_of(study.table(), "speedup");
  CHECK(contains(plot.script, "index 1 using"));
  CHECK_FALSE(contains(plot.script, "index 2 using"));  // two series of three points
  CHECK(contains(plot.script, "set key title 'network' noenhanced"));
  CHECK(contains(plot.data, "\n4\t"));
}

TEST_CASE("many configurations: the first of them, which the picture says") {
  MadeStudy study = empty_study();
  study.plan.configurations.clear();
  study.experiment.baseline.clear();
  study.plan.axes = {"nodes", "gpus_per_node", "k"};
  study.plan.varied = {"k"};
  for (int k = 0; k < 20; ++k) study.add_configuration({"1", "1", std::to_string(k)});
  for (std::size_t i = 0; i < 20; ++i) study.add_run(i, 1, 10, static_cast<double>(i));
  Table table = study.table();
  const std::vector<Row> rows = table.rows;
  for (int copy = 0; copy < 4; ++copy) table.rows.insert(table.rows.end(), rows.begin(), rows.end());
  CHECK(contains(plot_of(table, "time")->script, "'The first 60 of 100 configurations; choose others with --only or --sort.'"));
}

TEST_CASE("points of two series differ in colour or sign, also where no line joins them") {
  std::set<std::pair<std::string_view, int>> signs;
  for (std::size_t i = 0; i < kMostSeries; ++i) signs.emplace(plot_color(i), plot_point(i));
  CHECK(signs.size() == kMostSeries);
}

TEST_CASE("texts of users are strings of gnuplot, whatever they hold") {
  CHECK(gnuplot_string("it's `id` $(id) \\ @x \"q\"") == "'it''s `id` $(id) \\ @x \"q\"'");
  CHECK(gnuplot_string("a\nb\tc") == "'a b c'");
  CHECK(rc::check("no quote ends it early, no line ends in it", [](const std::string& text) {
    const std::string quoted = gnuplot_string(text, 1000);
    RC_ASSERT(quoted.size() >= 2 && quoted.front() == '\'' && quoted.back() == '\'');
    const std::string inside = quoted.substr(1, quoted.size() - 2);
    for (std::size_t i = 0; i < inside.size(); ++i) {
      RC_ASSERT(static_cast<unsigned char>(inside[i]) >= 0x20);
      if (inside[i] != '\'') continue;
      RC_ASSERT(i + 1 < inside.size() && inside[i + 1] == '\'');
      ++i;
    }
    RC_ASSERT(is_utf8(inside));
  }));
}

TEST_CASE("long names lose their middle, by characters") {
  CHECK(elide("abcdefghij", 10) == "abcdefghij");
  CHECK(elide("abcdefghijk", 10) == "abcdef…ijk");
  CHECK(elide("日本語日本語日本語", 4) == "日本…語");
}

TEST_CASE("HTML: whatever a text holds, no markup comes out") {
  CHECK(rc::check("no <, > or quote", [](const std::string& text) {
    const std::string escaped = escape_html(text);
    RC_ASSERT(escaped.find_first_of("<>\"'") == std::string::npos);
    RC_ASSERT(is_utf8(escaped));
    RC_ASSERT(escape_url(text).find_first_of("<>\"':&") == std::string::npos);
  }));
}
