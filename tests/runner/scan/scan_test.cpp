// `hpcbench scan`: numbers of logs, their names, units and patterns, and what the patterns' own reader makes of them.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "scan/line_spots.hpp"
#include "scan/metric_name.hpp"
#include "scan/proposal.hpp"
#include "scan/study_text.hpp"
#include "spec/read_experiment.hpp"

namespace hpcbench {

namespace {

constexpr std::size_t kMany = 100;

const Proposal* find_proposal(const Scan& scan, const std::string& name) {
  const auto found = std::find_if(scan.proposals.begin(), scan.proposals.end(),
                                  [&](const Proposal& proposal) { return proposal.metric.name == name; });
  return found == scan.proposals.end() ? nullptr : &*found;
}

/// `NAME: VALUES x COUNT [UNIT]`, the form in which these tests compare proposals.
std::string found(const std::string& text, const std::string& name, const std::string& file = "a.log") {
  const Scan scan = scan_text(text, file, kMany);
  const Proposal* const proposal = find_proposal(scan, name);
  if (proposal == nullptr) return "no " + name;
  const MetricMatches& read = proposal->read;
  return fmt::format("{} {}..{} {}", read.count, read.first.value_or(-1), read.last.value_or(-1), proposal->unit());
}

std::string selector(const std::string& text, const std::string& name) {
  const Scan scan = scan_text(text, "a.log", kMany);
  const Proposal* const proposal = find_proposal(scan, name);
  return proposal == nullptr ? "no " + name : proposal->metric.selector;
}

std::vector<std::string> names_of(const std::string& text) {
  std::vector<std::string> names;
  for (const Proposal& proposal : scan_text(text, "a.log", kMany).proposals) names.push_back(proposal.metric.name);
  return names;
}

}  // namespace

TEST_CASE("scan: labels with colons, equals signs, quotes and blanks") {
  CHECK(found("loss: 2.5\nloss: 1.25\n", "loss") == "2 2.5..1.25 ");
  CHECK(found("step=1, loss=2.5, lr=1e-4\n", "loss") == "1 2.5..2.5 ");
  CHECK(found("{'loss': 0.6931, 'epoch': 1.0}\n{'loss': '0.51', 'epoch': 2.0}\n", "loss") == "2 0.6931..0.51 ");
  CHECK(found("{\"loss\": 0.5}x\n", "loss") == "1 0.5..0.5 ");
  CHECK(found("iter 3: loss 4.25, time 31420.66ms\n", "time_ms") == "1 31420.66..31420.66 ms");
  CHECK(found("a | b  total time :   12.5 s\n", "total_time_s") == "1 12.5..12.5 s");
  CHECK(found("Mean TTFT (ms):        1,204.55\n", "mean_ttft_ms") == "1 1204.55..1204.55 ms");
}

TEST_CASE("scan: patterns hold the label's text, and blanks where they align") {
  CHECK(selector("loss:  12.5\nloss: 112.5\n", "loss") == R"(^loss: +(\S+))");
  CHECK(selector("x=1, max.mem(gpu): 2.5\n", "max_mem_gpu") == R"(\bmax\.mem\(gpu\): (\S+))");
  CHECK(selector("eval_loss=1.5, loss=2.5,\n", "loss") == R"(\bloss=([-+0-9.]+))");
  CHECK(selector("step: 1 loss: 2.5\nstep: 2 loss: 1.5\n", "loss") == R"(\bstep:\s*(?P<step>[0-9.]+).*?\bloss: (\S+))");
  CHECK(selector("a  13.25 tok/s\n", "tok_per_s") == "no tok_per_s");
  CHECK(selector("| 100384 tok/s\n", "tokens_per_s") == R"((\S+) tok/s\b)");
}

TEST_CASE("scan: a label within another one is read alone") {
  const std::string log = "step 1: train loss 4.5, val loss 4.25\niter 1: loss 3.5\niter 2: loss 2.5\n";
  CHECK(found(log, "loss") == "2 3.5..2.5 ");
  CHECK(found(log, "train_loss") == "1 4.5..4.5 ");
  CHECK(found("LOOP:  real time  74.5\nLOOP+:  real time24130.5518\n", "loop_plus_real_time") == "1 24130.5518..24130.5518 ");
}

TEST_CASE("scan: units behind numbers, in labels and in names; sizes in one unit") {
  CHECK(found("peak memory 980 MB\npeak memory 1.2 GB\npeak memory 1.5 GB\n", "peak_memory_gb") == "3 0.98..1.5 GB");
  CHECK(found("rss: 9472K\n", "rss_bytes") == "1 9699328..9699328 bytes");
  CHECK(found("eval_samples_per_second: 84.5\n", "eval_samples_per_second") == "1 84.5..84.5 samples/s");
  CHECK(found("mfu: 41.84%\n", "mfu_percent") == "1 41.84..41.84 %");
  CHECK(found("tps: 1,541,366\n", "tokens_per_s") == "1 1541366..1541366 tokens/s");
  CHECK(found("User time (seconds): 812.44\n", "user_time_s") == "1 812.44..812.44 s");
}

TEST_CASE("scan: durations are seconds, whatever their form") {
  CHECK(found("fetch  done in 1h 17m\ntrain  done in 2-03:14:25\nclean  done in 500ms\n", "done_s") == "3 4620..0.5 s");
  const std::string walls =
      " init :   2.26s CPU   2.87s WALL\n main :  18m31.9s CPU  18m52.1s WALL\n all :  1m CPU  1m 3.5s WALL\n";
  CHECK(found(walls, "init_wall_s") == "1 2.87..2.87 s");
  CHECK(found(walls, "main_wall_s") == "1 1132.1..1132.1 s");
  CHECK(found(walls, "all_wall_s") == "1 63.5..63.5 s");  // not 3.5
}

TEST_CASE("scan: columns below their words, only where they align") {
  const std::string table =
      "   size     time(us)   busbw(GB/s)\n      8        118.4        12.5\n   1024       1018.7        23.5\n";
  CHECK(found(table, "busbw_gb_per_s") == "2 12.5..23.5 GB/s");
  const Scan scan = scan_text(table, "a.log", kMany);
  CHECK(find_proposal(scan, "time_us")->metric.index == "size");
  const std::string access =
      "access    bw(MiB/s)  block(KiB) open(s)\n------    ---------  ---------- -------\nwrite     388.14     131072     "
      "0.0017\n";
  CHECK(found(access, "write_bw_mib_per_s") == "1 388.14..388.14 MiB/s");
  CHECK(found(access, "write_block_kib") == "1 131072..131072 KiB");
  const std::string rows = "               Core t (s)   Wall t (s)\n       Time:   211048.320     4396.840\n";
  CHECK(found(rows, "time_wall_t_s") == "1 4396.84..4396.84 s");
}

TEST_CASE("scan: no numbers in dates, times of day after them, versions, addresses, words and paths") {
  CHECK(
      names_of("[2026-03-04 09:11:20,104] mlx5_2 at 10.0.0.17, version 2.27.3, 0x1f, A100-PCIE-40GB, /scratch/2527298 ok\n") ==
      std::vector<std::string>{});
  CHECK(names_of("2025-11-14 09:47:57.683717: I core/util/port.cc:153] on\n") == std::vector<std::string>{});
  CHECK(names_of(" 25%|##   | 160/640 [05:02<15:02,  1.88s/it]\r") == std::vector<std::string>{});
}

TEST_CASE("scan: an index, resumed steps, ranks and -100 %") {
  const std::string ranks =
      "[rank3]: step: 1 loss: -1.5\n[rank0]: step: 1 loss: 7.5\n[rank3]: step: 2 loss: -1.5\n[rank0]: step: 2 loss: 6.5\n";
  CHECK(found(ranks, "loss") == "2 7.5..6.5 ");
  const std::string unknown = "iter 0: mfu -100.00%\niter 1: mfu 36.5%\niter 2: mfu 36.25%\n";
  CHECK(found(unknown, "mfu_percent") == "2 36.5..36.25 %");
  CHECK(find_proposal(scan_text(unknown, "a.log", kMany), "mfu_percent")->metric.absent == std::vector<std::string>{"-100"});
  const std::string own_source =
      "print(f\"it:{it} val_loss:{v:.4f}\")\n# best val_loss:3.1\nit:0/9 val_loss:10.5\nit:9/9 val_loss:3.5\n";
  CHECK(found(own_source, "val_loss") == "2 10.5..3.5 ");
}

TEST_CASE("scan: the take of losses, step times and memory") {
  std::string log;
  for (int i = 0; i < 12; ++i)
    log += fmt::format("step {} loss {}.5 time {}.5 ms memory {} GB\n", i, 12 - i, 50 + i % 3, i % 5 + 1);
  const Scan scan = scan_text(log, "a.log", kMany);
  CHECK(find_proposal(scan, "loss")->metric.take == "last");
  CHECK(find_proposal(scan, "time_ms")->metric.take == "median");
  CHECK(find_proposal(scan, "time_ms")->metric.skip == 1);
  CHECK(find_proposal(scan, "memory_gb")->metric.take == "max");
  CHECK(find_proposal(scan, "memory_gb")->read.value == 5);
}

TEST_CASE("scan: CSV, JSON documents, JSON lines, JSON in a log") {
  CHECK(found("step;loss\n1;2,5\n2;1,25\n", "loss", "a.csv") == "2 2.5..1.25 ");
  CHECK(found("{\"runs\": [{\"step\": 1, \"wall_s\": 2.5}, {\"step\": 2, \"wall_s\": 1.5}]}", "printed_wall_s", "a.json") ==
        "2 2.5..1.5 s");
  CHECK(found("{\"loss\": 2.5}\n{\"loss\": \"0.5\"}\n", "loss", "a.jsonl") == "2 2.5..0.5 ");
  const std::string values = R"([{"tag": "gpu time", "value": "2.5"}, {"tag": "cpu time", "value": "7.5"}])";
  CHECK(found(values, "gpu_time", "a.json") == "1 2.5..2.5 ");
  CHECK(found("{\"lm loss\": {\"values\": {\"31\": 10.5, \"32\": 9.5}}}", "lm_loss", "a.json") == "2 10.5..9.5 ");
  CHECK(found("note: port 3 is down\n{\"read\": {\"iops\": 468550.75}}\ndone\n", "read_iops") == "1 468550.75..468550.75 ");
  const std::string units = R"([{"real_time": 812.5, "time_unit": "ns"}, {"real_time": 61.5, "time_unit": "us"}])";
  CHECK(found(units, "real_time_us", "a.json") == "1 61.5..61.5 us");
}

TEST_CASE("scan: the numbers that people want come first, settings and counters last") {
  const std::string log =
      "config: batch_size=32 seed=1234 world_size=8 port=29500\nstep 1 loss 2.5 lr 1e-4 tokens/s: 1000.5\nstep 2 loss 2.25 lr "
      "2e-4 "
      "tokens/s: 1001.5\nTotal time: 12.5 s\n";
  const std::vector<std::string> names = names_of(log);
  REQUIRE(names.size() > 6);
  const std::vector<std::string> first(names.begin(), names.begin() + 3);
  for (const char* const name : {"tokens_per_s", "loss", "total_time_s"})
    CHECK(std::count(first.begin(), first.end(), name) == 1);
}

TEST_CASE("scan: names are metric names, also of odd labels") {
  CHECK(parse_label("CurrSamplesPerSec").name == "curr_samples_per_sec");
  CHECK(parse_label("images/s").unit == "images/s");
  CHECK(parse_label("Requests/sec").unit == "Requests/sec");
  CHECK(parse_label("Best Rate MB/s").unit == "MB/s");
  CHECK(parse_label("Mop/s total").unit == "Mop/s");
  CHECK(parse_label("Mop/s total").name == "total");
  CHECK(parse_label("train/loss").unit.empty());
  CHECK(parse_label("Elapsed (wall clock) time (h:mm:ss or m:ss)").name == "elapsed_wall_clock_time");
  CHECK(parse_label("99.00 percentile latency (ns)").name == "p99_00_percentile_latency");
  CHECK(metric_name("", "GB/s") == "gb_per_s");
  CHECK(metric_name("", "") == "value");
  CHECK(metric_name("mfu", "%") == "mfu_percent");
  CHECK(rc::check("any label gives an identifier", [](const std::string& label, const std::string& unit) {
    const std::string name = metric_name(parse_label(label).name, unit);
    RC_ASSERT(!name.empty());
    RC_ASSERT(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos);
    RC_ASSERT(!(name.front() >= '0' && name.front() <= '9'));
  }));
}

namespace {

/// A log whose values the generator knows.
struct KnownLog {
  std::string text;
  std::vector<std::string> labels;
  std::vector<std::vector<double>> values;  // by label
};

KnownLog generate_log() {
  const std::vector<std::string> all = {"loss", "eval_loss", "grad norm", "step time (ms)", "tps", "max.mem", "f1"};
  const std::vector<std::string> marks = {": ", "=", ":   ", " : "};
  const std::vector<std::string> gaps = {", ", " | ", "  ", "\t"};
  KnownLog log;
  const int count = *rc::gen::inRange(1, 5);
  const std::string mark = *rc::gen::elementOf(marks), gap = *rc::gen::elementOf(gaps);
  for (int i = 0; i < count; ++i) log.labels.push_back(all[static_cast<std::size_t>(*rc::gen::inRange(0, 2) + i)]);
  log.labels.erase(std::unique(log.labels.begin(), log.labels.end()), log.labels.end());
  log.values.resize(log.labels.size());
  const int lines = *rc::gen::inRange(1, 20);
  const bool has_steps = *rc::gen::arbitrary<bool>(), has_colour = *rc::gen::arbitrary<bool>();
  for (int line = 0; line < lines; ++line) {
    std::string text = has_steps ? fmt::format("step {}{}", line + 1, gap) : "";
    for (std::size_t i = 0; i < log.labels.size(); ++i) {
      const double value = *rc::gen::inRange(-1'000'000, 1'000'000) / 64.0;
      log.values[i].push_back(value);
      const bool is_word_alone = mark == "=" && log.labels[i].find(' ') != std::string::npos;
      text += (i > 0 ? gap : "") + (has_colour ? "\x1b[31m" : "") + log.labels[i] + (is_word_alone ? ": " : mark) +
              fmt::format("{}", value);
    }
    log.text += text + "\n";
  }
  return log;
}

}  // namespace

TEST_CASE("scan: what a proposal shows is what an experiment file with it reads") {
  CHECK(rc::check("generated logs", [] {
    const KnownLog log = generate_log();
    const Scan scan = scan_text(log.text, "a.log", kMany);
    if (scan.proposals.empty()) RC_FAIL("no proposal for: " + log.text);
    const Experiment experiment = parse_experiment(study_of_logs("s", {{"a.log", "a.log"}}, scan.proposals), "s.yaml", {});
    RC_ASSERT(experiment.work.metrics.size() == scan.proposals.size());
    for (std::size_t i = 0; i < scan.proposals.size(); ++i) {
      const MetricMatches again = read_metric_text(experiment.work.metrics[i], log.text, "a.log");
      const MetricMatches& shown = scan.proposals[i].read;
      RC_ASSERT(again.count == shown.count);
      RC_ASSERT(again.first == shown.first);
      RC_ASSERT(again.last == shown.last);
      RC_ASSERT(again.value == shown.value);
    }
    for (std::size_t i = 0; i < log.labels.size(); ++i) {
      const bool is_found = std::any_of(scan.proposals.begin(), scan.proposals.end(), [&](const Proposal& proposal) {
        const MetricMatches& read = proposal.read;
        return read.count == static_cast<long long>(log.values[i].size()) && read.first == log.values[i].front() &&
               read.last == log.values[i].back();
      });
      if (!is_found) RC_FAIL(log.labels[i] + " is missing in: " + log.text);
    }
  }));
}

TEST_CASE("scan: any bytes are read without harm, within the limit") {
  CHECK(rc::check("any text", [](const std::string& text) {
    for (const char* const name : {"a.log", "a.csv", "a.json"}) RC_ASSERT(scan_text(text, name, 3).proposals.size() <= 3);
  }));
  CHECK(found("step,lo\xffss\n1,2.5\n", "lo_ss", "a.csv") == "no lo_ss");  // no experiment file can name the column
  std::string labels;
  for (int i = 0; i < 10000; ++i)
    labels += fmt::format("label{}x: {}.5\nloss: {}.5\n",
                          std::string(static_cast<std::size_t>(i % 7), 'a') + char('a' + i % 26), i, i);
  CHECK(found(labels + "loss: 7.5\n", "loss") == "10001 0.5..7.5 ");
  CHECK(found(std::string(1 << 20, 'x') + " loss: 1.5\nloss: 2.5\n", "loss") == "1 2.5..2.5 ");  // a line of 1 MiB
}

}  // namespace hpcbench
