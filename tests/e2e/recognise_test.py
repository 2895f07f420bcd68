"""Results that other tools wrote (tests/data/stores): `init --import` makes a study, and `report` has the tools' own values."""
import collections
import itertools
import json
import pathlib
import shutil
import sqlite3
import statistics
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

STORES = ROOT / "tests/data/stores"
sys.path.insert(0, str(STORES))
import make  # noqa: E402  # what the programs printed whose results the tools kept

POINTS = list(itertools.product(["ddp", "fsdp"], [1, 2]))


def median_of(column):
    """Of each point of the common study, over the runs that succeeded: 1 step_ms, 2 val_loss."""
    values = {}
    for strategy, gpus in POINTS:
        runs = [make.steps(strategy, gpus, seed) for seed in (1, 2)]
        values[strategy, gpus] = statistics.median(steps[-1][column] for steps, fails in runs if not fails)
    return values


class Recognised(StudyTest):
    def init(self, *folders, results=None):
        """A study of a copy of some of the files."""
        for folder in folders:
            shutil.copytree(STORES / folder, self.folder / "old", dirs_exist_ok=True)
        return self.hpcbench("init", "study.yaml", "--import", results or "old").stdout

    def rows(self, *names):
        """The rows of the report by these axes; the second report has the same ones."""
        self.hpcbench("check", "study.yaml")
        report = self.report("study.yaml")
        again = self.report("study.yaml")
        self.assertEqual([row["median"] for row in report["rows"]], [row["median"] for row in again["rows"]])
        self.metric = report["metric"]
        return {tuple(row["axes"][name] for name in names): row for row in report["rows"]}

    def failed(self, rows):
        return sum(count for row in rows.values() for outcome, count in row["outcomes"].items() if outcome != "succeeded")

    def assert_common(self, metric="step_ms", column=1, failed=1, names=("strategy", "gpus_per_node")):
        rows = self.rows(*names)
        self.assertEqual(self.metric["name"] if isinstance(self.metric, dict) else self.metric, metric)
        self.assertEqual(len(rows), 4)
        for point, value in median_of(column).items():
            self.assertAlmostEqual(rows[point]["median"], value, delta=abs(value) * 1e-6, msg=str(point))
        self.assertEqual([rows[point]["n"] for point in POINTS], [2, 2, 2, 1])
        self.assertEqual(self.failed(rows), failed)
        return rows


class Trackers(Recognised):
    def test_wandb_export(self):
        self.init("wandb_export")
        self.assert_common()

    def test_wandb_offline_runs(self):
        self.init("wandb")
        self.assert_common()

    def test_mlflow_files(self):
        self.init("mlflow_files")
        self.assert_common()

    def test_a_run_without_a_metric_has_no_value_of_another_one(self):
        shutil.copytree(STORES / "mlflow_files", self.folder / "old")
        some = sorted((self.folder / "old").glob("mlruns/*/*/metrics/val/loss"))[0]
        some.unlink()
        self.init()
        self.assert_common()
        rows = self.report("study.yaml", "--metric", "val_loss")["rows"]
        self.assertEqual(sorted(row["n"] for row in rows), [1, 1, 2, 2] if self.loss_of_success(some) else [1, 2, 2, 2])
        self.assertTrue(all(row["median"] < 2 for row in rows))

    @staticmethod
    def loss_of_success(metric):
        return "status: 3" in (metric.parents[2] / "meta.yaml").read_text()

    def test_mlflow_database(self):
        shutil.copytree(STORES / "mlflow_sqlite", self.folder / "old")
        with sqlite3.connect(self.folder / "old/mlflow.db") as database:
            database.executescript((self.folder / "old/mlflow.sql").read_text())
        self.init()
        self.assert_common()


class Trainings(Recognised):
    def test_hydra(self):
        self.init("hydra")
        rows = self.rows("strategy", "gpus_per_node")
        for strategy, gpus in POINTS:  # as `scan` proposes for step times: the median of a run without its first
            runs = [make.steps(strategy, gpus, seed) for seed in (1, 2)]
            times = [statistics.median(round(ms, 2) for _, ms, _ in steps[1:]) for steps, fails in runs if not fails]
            self.assertAlmostEqual(rows[strategy, gpus]["median"], statistics.median(times))
        self.assertEqual(self.failed(rows), 1)

    def test_tensorboard(self):
        self.init("tensorboard")
        self.assert_common(names=("variant", "gpus_per_node"))

    def test_lightning(self):
        self.init("lightning")
        self.assert_common()

    def test_trainer_state(self):
        self.init("huggingface")
        rows = self.rows("bs", "lr")
        for size, rate in itertools.product([8, 16], ["1e-2", "1e-3"]):
            values = []
            for state in (STORES / "huggingface/out").glob(f"bs{size}_lr{rate}_seed*/trainer_state.json"):
                values += [entry["train_runtime"] for entry in json.loads(state.read_text())["log_history"] if "train_runtime" in entry]
            row = rows[size, float(rate)]
            self.assertAlmostEqual(row["median"], statistics.median(values))
            self.assertEqual(row["n"], len(values))
        self.assertEqual(self.failed(rows), 1)

    def test_mllog(self):
        self.init("mllog")
        rows = self.rows("variant", "gpus_per_node")
        for strategy, gpus in POINTS:
            runs = [make.steps(strategy, gpus, seed) for seed in (1, 2)]
            times = [sum(int(ms * 1000) for _, ms, _ in steps) / 1000 for steps, fails in runs if not fails]
            self.assertAlmostEqual(rows[strategy, gpus]["median"], statistics.median(times))
        self.assertEqual(self.failed(rows), 1)


class Runners(Recognised):
    def test_jube(self):
        self.init("jube")
        self.assert_common(metric="step_ms_last")

    def test_reframe_report(self):
        self.init("reframe", results="old/report.json")
        self.assert_common()

    def test_reframe_perflogs(self):
        self.init("reframe", results="old/perflogs")
        self.assert_common()

    def test_reframe_database(self):
        (self.folder / "old").mkdir()
        with sqlite3.connect(self.folder / "old/results.db") as database:
            database.executescript((STORES / "reframe/results.sql").read_text())
        self.init()
        self.assert_common()

    def test_ramble(self):
        self.init("ramble")
        self.assert_common(metric="step")


class Suites(Recognised):
    def medians(self, rows):
        return {point: (row["median"], row["n"]) for point, row in rows.items()}

    def test_hyperfine(self):
        self.init("hyperfine")
        rows = self.rows("kind", "n")
        for result in json.loads((STORES / "hyperfine/hyperfine.json").read_text())["results"]:
            row = rows[result["parameters"]["kind"], int(result["parameters"]["n"])]
            good = [time for time, code in zip(result["times"], result["exit_codes"]) if code == 0]
            self.assertEqual(row["n"], len(good))
            if good:
                self.assertAlmostEqual(row["median"], result["median"])
        self.assertEqual(self.failed(rows), 3)

    def test_google_benchmark(self):
        self.init("google_benchmark", results="old/gbench.json")
        rows = self.rows("benchmark")
        times = collections.defaultdict(list)
        failed = 0
        factor = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
        for result in json.loads((STORES / "google_benchmark/gbench.json").read_text())["benchmarks"]:
            if result["run_type"] != "iteration":
                continue
            if result.get("error_occurred"):
                failed += 1
                continue
            times[result["run_name"]].append(result["real_time"] * factor[result["time_unit"]])
        self.assertEqual(self.failed(rows), failed)
        shown = {point[0]: row["median"] for point, row in rows.items() if row["n"]}
        scale = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[self.unit()]
        self.assertEqual(set(shown), set(times))
        for name, values in times.items():
            self.assertAlmostEqual(shown[name] * scale / statistics.median(values), 1, places=9, msg=name)

    def unit(self):
        return self.report("study.yaml")["unit"]

    def test_pytest_benchmark(self):
        self.init("pytest_benchmark")
        rows = self.rows("kind", "n")
        for result in json.loads((STORES / "pytest_benchmark/pytest.json").read_text())["benchmarks"]:
            self.assertAlmostEqual(rows[result["params"]["kind"], result["params"]["n"]]["median"], result["stats"]["median"])

    def test_nvbench(self):
        self.init("nvbench")
        rows = self.rows("BlockSize", "Elements")
        for block, elements in itertools.product([64, 256], [1 << 20, 1 << 24]):
            if (block, elements) != (256, 1 << 24):
                self.assertAlmostEqual(rows[block, elements]["median"] / (elements / 1e11 * (1 + 8 / block)), 1)
        self.assertEqual(self.failed(rows), 1)

    def test_nccl_tests(self):
        self.init("nccl_tests")
        rows = self.rows("gpus_per_node", "size")
        for gpus, size in itertools.product([2, 4], [1 << 20, 1 << 24]):
            calls = [1] if (gpus, size) == (4, 1 << 24) else [1, 2]
            self.assertAlmostEqual(rows[gpus, size]["median"], statistics.median(size / 1e5 * (1 + gpus / 10) + 20 + call for call in calls))
        self.assertEqual(self.failed(rows), 1)

    def test_vllm(self):
        self.init("vllm")
        rows = self.rows("label", "max_concurrency")
        files = [json.loads(path.read_text()) for path in (STORES / "vllm").glob("*.json")]
        for (label, limit), row in rows.items():
            values = [run[make_metric(self.metric)] for run in files if (run["label"], run["max_concurrency"]) == (label, limit) and run["completed"]]
            self.assertAlmostEqual(row["median"], statistics.median(values))
        self.assertEqual(self.failed(rows), 1)


class Others(Recognised):
    def test_logs_in_named_folders(self):
        """As in tests/data/cases: batch, learning rate and nodes in the names of folders."""
        for batch, nodes, seed in itertools.product([16, 64], [1, 4], [1, 2, 3]):
            rate = {16: "1e-4", 64: "4e-4"}[batch]
            self.write(f"runs/run_bs{batch}_lr{rate}_n{nodes}_seed{seed}/log.txt", f"start\nstep 100 loss 6.4320\nmean step {batch * 8 / nodes + seed:.1f} ms\n")
        self.init(results="runs")
        self.assertIn('files: "runs/run_bs{bs}_lr{lr}_n{n}_seed{repeat}/log.txt"', (self.folder / "study.yaml").read_text())
        rows = self.rows("bs", "lr", "n")
        self.assertEqual({point: (row["median"], row["n"]) for point, row in rows.items()},
                         {(batch, {16: 1e-4, 64: 4e-4}[batch], nodes): (batch * 8 / nodes + 2, 3) for batch, nodes in itertools.product([16, 64], [1, 4])})

    def test_an_unknown_folder_says_what_is_known_and_what_to_do(self):
        self.write("old/notes.md", "nothing")
        told = self.hpcbench("init", "study.yaml", "--import", "old", code=2).stderr
        for word in ("old", "MLflow", "TensorBoard", "hpcbench scan", "run_bs16"):
            self.assertIn(word, told)
        self.assertFalse((self.folder / "study.yaml").exists())
        self.assertIn("no folder or file", self.hpcbench("init", "study.yaml", "--import", "gone", code=2).stderr)

    def test_rates_per_second_are_rates_and_one_configuration_is_a_study(self):
        for name, rate in (("old", 116), ("new", 96)):
            lines = [f"16,{rate + seed / 10},{seed}" for seed in range(6)]
            self.write(f"{name}.csv", "\n".join(["batch,images/s,seed", *lines, ""]))
            self.hpcbench("init", f"{name}.yaml", "--import", f"{name}.csv")
        self.assertEqual(self.report("old.yaml")["unit"], "images/s")
        gate = self.hpcbench("compare", "old.yaml", "new.yaml", "--fail-if", "slower > 5%", code=1).stdout
        self.assertIn("slower (fails)", gate)

    def test_an_existing_file_stays(self):
        self.write("study.yaml", "mine")
        shutil.copytree(STORES / "hyperfine", self.folder / "old")
        self.assertIn("exists already", self.hpcbench("init", "study.yaml", "--import", "old", code=2).stderr)
        self.assertEqual((self.folder / "study.yaml").read_text(), "mine")

    def test_paths_are_relative_to_the_experiment_file(self):
        shutil.copytree(STORES / "hyperfine", self.folder / "data/old")
        (self.folder / "studies").mkdir()
        self.hpcbench("init", "studies/study.yaml", "--import", "data/old")
        self.assertIn('"../data/old/hyperfine.json"'.strip('"'), (self.folder / "studies/study.yaml").read_text())
        self.hpcbench("report", "studies/study.yaml")


    def test_a_table_of_runs(self):
        self.write("runs.csv", "strategy,nodes,seed,time[s],loss\nddp,1,1,10.5,0.31\nddp,1,2,10.7,0.32\nddp,2,1,6.1,0.33\nddp,2,2,6.3,0.34\n")
        self.init(results="runs.csv")
        self.assertEqual({point: round(row["median"], 9) for point, row in self.rows("nodes").items()}, {(1,): 10.6, (2,): 6.2})


class Exported(Recognised):
    def setUp(self):
        super().setUp()
        self.init("mlflow_files")
        self.assert_common()

    def test_a_file_store_of_mlflow_comes_back_as_the_same_table(self):
        self.hpcbench("export", "study.yaml", "--mlflow", "out")
        self.assertIn("not a new or empty folder", self.hpcbench("export", "study.yaml", "--mlflow", "out", code=2).stderr)
        (self.folder / "study.yaml").unlink()
        shutil.rmtree(self.folder / "results")
        self.hpcbench("init", "study.yaml", "--import", "out")
        self.assert_common()

    def test_mlflow_reads_it(self):
        try:
            import mlflow
        except ImportError:
            self.skipTest("needs mlflow")
        self.hpcbench("export", "study.yaml", "--mlflow", "out")
        import os
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "1"
        client = mlflow.MlflowClient(f"file://{self.folder}/out")
        experiment = client.get_experiment_by_name("study")
        runs = client.search_runs([experiment.experiment_id])
        self.assertEqual(collections.Counter(run.info.status for run in runs), {"FINISHED": 7, "FAILED": 1})
        values = collections.defaultdict(list)
        for run in runs:
            if run.info.status == "FINISHED":
                values[run.data.params["strategy"], int(run.data.params["gpus_per_node"])].append(run.data.metrics["step_ms"])
        self.assertEqual({point: statistics.median(of_point) for point, of_point in values.items()}, median_of(1))
        some = next(run for run in runs if run.info.status == "FINISHED")
        self.assertEqual([point.step for point in client.get_metric_history(some.info.run_id, "step_ms")], [0, 100, 200])

    def test_a_csv_in_the_form_of_wandb_comes_back_as_the_same_table(self):
        self.hpcbench("export", "study.yaml", "--wandb-csv", "runs.csv")
        (self.folder / "study.yaml").unlink()
        shutil.rmtree(self.folder / "results")
        self.hpcbench("init", "study.yaml", "--import", "runs.csv")
        self.assert_common()


def make_metric(metric):
    name = metric["name"] if isinstance(metric, dict) else metric
    return {"requests_per_s": "request_throughput", "output_tokens_per_s": "output_throughput", "tokens_per_s": "total_token_throughput"}.get(name, name)


if __name__ == "__main__":
    unittest.main()
