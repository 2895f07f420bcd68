// What a row has beside the metric: phases, rates, GPU-hours, MFU, curves, the laws of scaling, provenance.
#include <doctest/doctest.h>

#include "runner/report/study.hpp"

using namespace hpcbench;

namespace {

/// ddp on 1, 2 and 4 gpus, six runs each of 100, 52 and 28 s, in turn.
MadeStudy ladder() {
  MadeStudy study;
  study.experiment.name = "ladder";
  study.experiment.work.trainer = "mnist_rnn";
  study.experiment.baseline = {{"gpus_per_node", {Value::from_plain("1")}}};
  study.plan.axes = {"nodes", "gpus_per_node", "strategy"};
  study.plan.varied = {"gpus_per_node"};
  study.plan.repeats = 6;
  const std::vector<double> times = {100, 52, 28};
  const std::vector<std::string> gpus = {"1", "2", "4"};
  for (std::size_t i = 0; i < times.size(); ++i) {
    study.add_configuration({"1", gpus[i], "ddp"});
    study.add_runs(i, std::vector<double>(6, times[i]), static_cast<int>(i), 3);
  }
  return study;
}

}  // namespace

TEST_CASE("phases and rates are medians over the runs that succeeded and say it") {
  MadeStudy study = clean_study();
  for (std::size_t i = 0; i < 6; ++i) {
    auto& metrics = study.records[i].metrics;
    metrics["setup_s"] = 1 + static_cast<double>(i);
    metrics["communication_s"] = 0.5;
    metrics["samples"] = 1200;
    metrics["f1"] = 80 + static_cast<double>(i);
  }
  study.records[5].metrics.erase("setup_s");
  study.experiment.report.columns = {};
  ReportOptions options;
  options.metric_columns = {"f1", "nothing"};
  const Table table = study.table(options);
  const Row& row = table.rows[0];
  CHECK(row.times.phases.setup_s == 3.0);  // of 1 to 5
  CHECK(row.times.phases.communication_s == 0.5);
  CHECK(row.times.phases.train_s == 12.5);
  CHECK_FALSE(row.times.phases.eval_s);
  CHECK(row.work.samples_per_s.value() == doctest::Approx((1200.0 / 12 + 1200.0 / 13) / 2));  // the middle two of six
  CHECK_FALSE(row.work.tokens_per_s);
  CHECK(row.metrics == std::map<std::string, double>{{"f1", 82.5}});
}

TEST_CASE("GPU-hours: gpus x wall_s of all runs that count, apart by outcome") {
  MadeStudy study = clean_study();
  study.records[11].state = State::timeout;
  study.records[11].metrics = {{"wall_s", 3600}};
  const Row row = study.table().rows[1];
  double seconds = 0;
  for (std::size_t i = 6; i < 11; ++i) seconds += study.records[i].metrics.at("wall_s");
  CHECK(row.work.gpu_hours_of.at(State::timeout) == 2);
  CHECK(row.work.gpu_hours_of.at(State::succeeded) == doctest::Approx(2 * seconds / 3600));
  CHECK(row.work.gpu_hours.value() == doctest::Approx(2 + 2 * seconds / 3600));
}

TEST_CASE("MFU: against the named peak, by the program's own count or the transformer formula") {
  MadeStudy study = clean_study();
  CHECK_FALSE(study.table().rows[1].work.mfu);
  study.experiment.report.peak_tflops = 2;
  CHECK_FALSE(study.table().rows[1].work.mfu);  // no work was declared
  for (std::size_t i = 6; i < 12; ++i) study.records[i].metrics["flop"] = 1e12 * study.records[i].metrics["train_s"];
  CHECK(study.table().rows[1].work.mfu.value() == doctest::Approx(0.25));  // 1 of 2 gpus x 2 TFLOP/s
  for (std::size_t i = 6; i < 12; ++i) {
    auto& record = study.records[i];
    record.metrics.erase("flop");
    record.metrics["samples"] = 100;
    for (const auto& [name, text] :
         NameMap<std::string>{{"layers", "12"}, {"hidden_size", "768"}, {"intermediate_size", "3072"}, {"max_length", "384"}})
      record.facts.emplace(name, text);
  }
  // 84,934,656 parameters of linear layers; 38,400 tokens x (6 x 84,934,656 + 12 x 12 x 768 x 384) = 21,199,690,137,600.
  const double operations = 38400.0 * (6 * 84934656.0 + 12.0 * 12 * 768 * 384);
  CHECK(operations == 21199690137600.0);
  const double expected = (operations / 6.2 + operations / 6.6) / 2 / 4e12;
  CHECK(study.table().rows[1].work.mfu.value() == doctest::Approx(expected));
}

TEST_CASE("time to a target loss: runs that miss it are endless") {
  MadeStudy study = clean_study();
  study.experiment.report.target_loss = 0.5;
  for (std::size_t run = 6; run < 12; ++run) {
    for (long long epoch = 1; epoch <= 3; ++epoch) {
      study.records[run].series.push_back({"epoch_s", epoch, 2.0});
      const bool learns = run != 11;
      study.records[run].series.push_back({"val_loss", epoch, learns ? 1.0 / static_cast<double>(epoch) : 0.9});
    }
  }
  Row row = study.table().rows[1];
  CHECK(row.losses.reached_target == 5);
  CHECK(row.losses.time_to_target_s == 4.0);  // 1/2 after the second epoch
  REQUIRE(row.losses.curve.size() == 3);
  CHECK(row.losses.curve[1].n == 6);
  CHECK(row.losses.curve[1].val_loss == 0.5);
  CHECK(row.losses.best_epoch == 3);
  CHECK_FALSE(row.losses.overfits_from);
  study.experiment.report.target_loss = 0.1;
  row = study.table().rows[1];
  CHECK(row.losses.reached_target == 0);
  CHECK_FALSE(row.losses.time_to_target_s);
}

TEST_CASE("Amdahl's law of a strategy on three numbers of gpus, with its residuals and marked predictions") {
  const Table table = ladder().table();
  REQUIRE(table.fits.size() == 1);
  const Fit& fit = table.fits[0];
  CHECK(fit.law == "amdahl");
  CHECK(fit.label == "all rows");
  REQUIRE(fit.points.size() == 3);
  CHECK(fit.points[0].fitted == 1);
  CHECK(fit.points[1].speedup.value() == doctest::Approx(100.0 / 52));
  CHECK(fit.points[2].residual.value() == doctest::Approx(100.0 / 28 - fit.points[2].fitted));
  CHECK(fit.serial_fraction == doctest::Approx(0.04).epsilon(0.001));  // T = 4 + 96 / p exactly
  CHECK(fit.residual_rms < 1e-6);
  CHECK(fit.degrees_of_freedom == 1);
  REQUIRE(fit.extrapolated.size() == 2);
  CHECK(fit.extrapolated[0].size == 8);
  CHECK_FALSE(fit.extrapolated[0].speedup);
  CHECK(fit.extrapolated[0].fitted == doctest::Approx(1 / (0.04 + 0.96 / 8)));
}

TEST_CASE("no fit without the strategy's own run on one gpu, of two numbers, or of what is no time") {
  MadeStudy study = ladder();
  std::erase_if(study.records, [](const AttemptRecord& record) { return record.gpus == 4; });
  CHECK(study.table().fits.empty());
  study = ladder();
  std::erase_if(study.records, [](const AttemptRecord& record) { return record.gpus == 1; });
  CHECK(study.table().fits.empty());
  study = ladder();
  ReportOptions options;
  options.metric = "accuracy";
  CHECK(study.table(options).fits.empty());
}

TEST_CASE("weak scaling is fitted by Gustafson's law, with scaled speedups") {
  MadeStudy study = ladder();
  study.experiment.report.scaling = Scaling::weak;
  const std::vector<double> times = {100, 110, 115};
  for (std::size_t i = 0; i < study.records.size(); ++i) study.records[i].metrics["train_s"] = times[i / 6];
  const Table table = study.table();
  REQUIRE(table.fits.size() == 1);
  CHECK(table.fits[0].law == "gustafson");
  CHECK(table.fits[0].points[2].speedup.value() == doctest::Approx(4 * 100.0 / 115));
  // (2 - 1.81818) x 1 + (4 - 3.47826) x 3 over 1 + 9
  CHECK(table.fits[0].serial_fraction == doctest::Approx((2 - 200.0 / 110 + (4 - 400.0 / 115) * 3) / 10));
}

TEST_CASE("a size zipped to the gpus is of the same family: fit, speedup and efficiency") {
  MadeStudy study;
  study.experiment.name = "weak";
  study.experiment.path = "weak.yaml";
  study.experiment.report.scaling = Scaling::weak;
  study.experiment.baseline = {{"gpus_per_node", {Value::from_plain("1")}}};
  study.plan.axes = {"nodes", "gpus_per_node", "n", "precision"};
  study.plan.varied = {"gpus_per_node", "n", "precision"};
  study.plan.repeats = 6;
  study.experiment.zip = {{{"gpus_per_node", {}}, {"n", {}}}};
  const std::vector<double> times = {100, 110, 115, 120};
  for (const std::string precision : {"fp32", "bf16"}) {
    for (std::size_t i = 0; i < 4; ++i) {
      const int gpus = 1 << i;
      const std::size_t at = study.add_configuration({"1", std::to_string(gpus), std::to_string(100 * gpus), precision});
      study.add_runs(at, std::vector<double>(6, times[i]), static_cast<int>(at), 8);
    }
  }
  const Table table = study.table();
  CHECK(table.size_axes == std::vector<std::string>{"nodes", "gpus_per_node", "n"});
  REQUIRE(table.fits.size() == 2);
  CHECK(table.fits[0].law == "gustafson");
  CHECK(table.fits[0].label == "precision=fp32");
  CHECK(table.fits[0].points.size() == 4);
  CHECK(table.rows[3].efficiency.value() == doctest::Approx(102.0 / 122));  // wall_s
  CHECK(table.notes.empty());

  // Where the work is meant to be the same, whoever reads is warned that it is not.
  study.experiment.report.scaling = Scaling::fixed_work;
  const Table fixed = study.table();
  REQUIRE(fixed.rows[3].speedup);
  REQUIRE(fixed.notes.size() == 1);
  CHECK(fixed.notes[0].starts_with("n varies together with the number of gpus: speedups compare rows of different n"));

  // A number that only happens to go with the gpus is another configuration of the same work, and has no baseline.
  study.experiment.zip.clear();
  study.experiment.include = {{}};
  CHECK_FALSE(study.table().rows[3].speedup);
  study.experiment.report.scaling = Scaling::weak;
  CHECK(study.table().rows[3].speedup);

  // Two values of n at one size: it tells rows apart.
  study.add_configuration({"1", "1", "5", "fp32"});
  CHECK(study.table().size_axes == std::vector<std::string>{"nodes", "gpus_per_node"});
}

TEST_CASE("counted in nodes, each number of gpus a node has its own fit") {
  MadeStudy study;
  study.experiment.name = "nodes";
  study.experiment.path = "nodes.yaml";
  study.experiment.report.scale_by = ScaleBy::nodes;
  study.experiment.baseline = {{"nodes", {Value::from_plain("1")}}};
  study.plan.axes = {"nodes", "gpus_per_node"};
  study.plan.varied = study.plan.axes;
  study.plan.repeats = 6;
  for (const int gpus : {1, 2}) {
    for (const int nodes : {1, 2, 4}) {
      const std::size_t at = study.add_configuration({std::to_string(nodes), std::to_string(gpus)});
      study.add_runs(at, std::vector<double>(6, (4 + 96.0 / nodes) / gpus), static_cast<int>(at), 6);
    }
  }
  study.experiment.report.metric = "train_s";
  const Table table = study.table();
  CHECK(table.size_axes == std::vector<std::string>{"nodes"});
  REQUIRE(table.fits.size() == 2);
  CHECK(table.fits[1].label == "gpus_per_node=2");
  for (const Fit& fit : table.fits) CHECK(fit.serial_fraction == doctest::Approx(0.04).epsilon(0.001));  // T = 4 + 96 / p
  study.experiment.report.scale_by = ScaleBy::gpus;  // counts both: one line, as 2 x 1 and 1 x 2 are of one size
  CHECK(study.table().size_axes == std::vector<std::string>{"nodes", "gpus_per_node"});
}

TEST_CASE("a size that tells baselines apart still does") {
  MadeStudy study = empty_study();
  study.plan.configurations.clear();
  study.plan.axes = {"nodes", "gpus_per_node", "n", "strategy"};
  study.plan.varied = {"gpus_per_node", "n", "strategy"};
  study.experiment.report.scaling = Scaling::weak;
  study.experiment.zip = {{{"gpus_per_node", {}}, {"n", {}}}};
  for (const std::string strategy : {"baseline", "ddp"}) {
    for (const std::string gpus : {"1", "2"}) {
      const std::size_t at = study.add_configuration({"1", gpus, gpus + "00", strategy});
      study.add_runs(at, std::vector<double>(6, 10.0 + static_cast<double>(at)), static_cast<int>(at), 4);
    }
  }
  const Table table = study.table();  // of each size a baseline of its own
  CHECK(table.rows[3].ratio_of_medians.value() == doctest::Approx(11.0 / 13));
}

TEST_CASE("published rates and losses stand as they were published; computed ones have three digits") {
  MadeStudy study = clean_study();
  for (AttemptRecord& record : study.records) {
    record.facts["source"] = "imported";
    record.metrics["tokens_per_s"] = 88620.76;
    record.metrics["samples_per_s"] = 692.35;
    record.metrics["train_loss"] = 12.3456;
  }
  study.experiment.report.columns = {"tokens_per_s", "samples_per_s", "train_loss"};
  const std::string published = print_as(study.table(), "markdown");
  CHECK(published.find("| 88620.76 | 692.35 | 12.35 |") != std::string::npos);
  for (AttemptRecord& record : study.records) {
    record.metrics.erase("samples_per_s");
    record.metrics.erase("tokens_per_s");
    record.metrics["samples"] = 48000;
    record.metrics["tokens"] = 96000;
    record.metrics["train_s"] = 7;
  }
  CHECK(print_as(study.table(), "markdown").find("| 13700 | 6860 | 12.35 |") != std::string::npos);
}

TEST_CASE("the methods claim an order only where there is one to see") {
  MadeStudy study = empty_study();
  study.experiment.order = Order::sequential;
  study.add_run(0, 1, 10, 0);
  CHECK(study.table().methods.find("asked for") == std::string::npos);  // one configuration
  study.add_run(1, 1, 6, 1);
  CHECK(study.table().methods.find("Runs were requested one configuration after the other; without repeats") !=
        std::string::npos);
  CHECK(study.table().methods.find("interleaved") == std::string::npos);
  study.experiment.order = Order::interleaved;
  CHECK(study.table().methods.find("once each, in a random order; without repeats") != std::string::npos);
  study.add_run(0, 2, 10, 2);
  CHECK(study.table().methods.find("too few of them have start times") != std::string::npos);
  study.add_run(1, 2, 6, 3);
  CHECK(study.table().methods.find("their start times show them interleaved") != std::string::npos);
}

TEST_CASE("facts of a row and the provenance of a table") {
  MadeStudy study = clean_study();
  for (std::size_t i = 0; i < study.records.size(); ++i) {
    study.records[i].facts["torch"] = i < 6 ? "2.8.0" : "2.9.0";
    study.records[i].facts["seed"] = i % 2 == 0 ? "1" : "2";
    study.records[i].executor = "local";
  }
  const Table table = study.table();
  CHECK(table.rows[0].facts.at("torch") == "2.8.0");
  CHECK(table.rows[0].facts.at("seed") == "1|2");
  const auto row =
      std::find_if(table.provenance.begin(), table.provenance.end(), [](const auto& of) { return of.name == "torch"; });
  REQUIRE(row != table.provenance.end());
  CHECK(row->values == std::vector<std::string>{"2.8.0", "2.9.0"});
  CHECK(table.provenance.front().name == "executor");  // sorted by name
}

TEST_CASE("methods and the twelve rules say what was done") {
  MadeStudy study = clean_study();
  for (AttemptRecord& record : study.records) record.facts["commit"] = "abc";
  const Table table = study.table();
  CHECK(table.methods.find("Each of 2 configurations was run 6 times as independent jobs (n = 6).") == 0);
  CHECK(table.methods.find("their start times show them interleaved") != std::string::npos);
  CHECK(table.methods.find("exact rank-sum intervals") != std::string::npos);
  CHECK(table.methods.find("commit abc") != std::string::npos);
  REQUIRE(table.rules.size() == 12);
  for (int i = 0; i < 12; ++i) CHECK(table.rules[static_cast<std::size_t>(i)].number == i + 1);
  CHECK(table.rules[0].verdict == RuleVerdict::met);
  CHECK(table.rules[0].reason.find("median 12.5 s") != std::string::npos);
  CHECK(table.rules[4].verdict == RuleVerdict::met);
  CHECK(table.rules[6].verdict == RuleVerdict::met);
  CHECK(table.rules[8].verdict == RuleVerdict::met);
  CHECK(table.rules[9].verdict == RuleVerdict::met);
  study.records[0].facts["dirty"] = "true";
  CHECK(study.table().rules[8].verdict == RuleVerdict::not_met);
  study.records.resize(8);  // six and two
  const Table few = study.table();
  CHECK(few.rules[4].verdict == RuleVerdict::not_met);
  CHECK(few.rules[4].reason.find("1 of 2 medians") != std::string::npos);
  study.experiment.baseline.clear();
  CHECK(study.table().rules[0].verdict == RuleVerdict::not_applicable);
}
