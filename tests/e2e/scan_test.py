"""`hpcbench scan`: the number that a person wants is among the first proposals; what it shows is what a study reads; files keep their text."""
import json
import math
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import HPCBENCH, ROOT, StudyTest  # noqa: E402

CASES = ROOT / "tests/data/cases"
LABS = ROOT / "results/labs/squad2_fabric"
# The value that a person wants from a file, as want.json of its case has it (several: the last, or what `take` gives). Files without one, such
# as metadata and failed runs without a number, are left out.
WANTED = {
    "01-thousands-after-tps/train.log": (1318204, 1317972),
    "02-colours-two-ranks/train.log": (6.05113,),
    "03-perf-decimal-comma/perf-de.txt": (9318.27,),
    "03-perf-decimal-comma/perf-en.txt": (9301.66,),
    "04-progress-bar-and-dictionary/train.log": (0.5064,),
    "04-progress-bar-and-dictionary/quoted.log": (0.4391,),
    "05-durations-in-text/stages.log": (4620,),
    "05-durations-in-text/pw-1.out": (4320,),
    "05-durations-in-text/pw-4.out": (1143.52,),
    "05-durations-in-text/pw-16.out": (311.8,),
    "05-durations-in-text/pw-64.out": (54.37,),
    "06-numbers-as-json-strings/kernels.json": (0.0008791440639269407,),
    "07-serving-nan-json/result.json": (6.414,),
    "07-serving-nan-json/serve.log": (18.17,),
    "08-sizes-with-changing-units/mem.log": (1.35,),
    "08-sizes-with-changing-units/rss.txt": (1879048192,),
    "09-seff-and-time-v/a.seff": (660,),
    "09-seff-and-time-v/b.seff": (1179,),
    "09-seff-and-time-v/c.seff": (7214,),
    "09-seff-and-time-v/short.time": (206.31,),
    "09-seff-and-time-v/long.time": (15228,),
    "10-json-keyed-by-step/golden.json": (9.62166,),
    "11-json-after-a-preamble/gather.log": (19.263629,),
    "11-json-after-a-preamble/fio.out": (468550.75,),
    "12-json-lines-with-changing-keys/trainer_log.jsonl": (1326,),
    "13-csv-dialects/semi.csv": (120.88,),
    "13-csv-dialects/tabs.tsv": (41007, 88120),
    "13-csv-dialects/cells.csv": (7.125,),
    "14-results-of-other-runners/perflog.log": (348120.2,),
    "14-results-of-other-runners/result.csv": (131.045,),
    "14-results-of-other-runners/ramble.json": (53.97, 96.41),
    "15-csv-header-again/metrics.csv": (1.3977,),
    "16-io-test-sections/io.out": (388.14,),
    "16-io-test-sections/lin.out": (108.81,),
    "17-glued-columns/bulk-1n.out": (24130.5518,),
    "17-glued-columns/bulk-2n.out": (12246.103,),
    "17-glued-columns/bulk-4n.out": (6212.9987,),
    "17-glued-columns/bulk-8n.out": (3393.2216,),
    "17-glued-columns/bulk-16n.out": (1911.0402,),
    "18-same-record-twice/model.log": (9.8441,),
    "19-steps-restart-after-resume/train.log": (5.706737,),
    "20-log-begins-with-its-source/run.txt": (3.2791,),
    "21-evaluation-inside-iteration-times/nano.log": (31420.66,),
    "21-evaluation-inside-iteration-times/c.log": (2611.4,),
    "22-zero-means-not-run/meta-1.log": (1204.118,),
    "22-zero-means-not-run/meta-2.log": (2290.561,),
    "22-zero-means-not-run/meta-4.log": (4188.902,),
    "22-zero-means-not-run/meta-8.log": (6930.274,),
    "23-exit-0-but-invalid/summary.txt": (209.87,),
    "23-exit-0-but-invalid/train-a.log": (0.7209,),
    "23-exit-0-but-invalid/train-b.log": (0.6911,),
    "24-loss-becomes-nan/train.log": (1.9505,),
    "25-axes-in-folder-names/runs/run_bs16_lr1e-4_n1_seed1/log.txt": (132.6,),
    "25-axes-in-folder-names/runs/run_bs64_lr4e-4_n4_seed2/log.txt": (462.6,),
    "26-tracker-csv-export/export.csv": (1822,),
    "27-mlruns-store/mlruns/418207735512904631/0a4c6e1177d84c0f9f52b1f0a8d3e611/metrics/step_ms": (603.77,),
    "27-mlruns-store/mlruns/418207735512904631/0a4c6e1177d84c0f9f52b1f0a8d3e611/metrics/val_loss": (1.5439,),
    "28-hydra-multirun/multirun/2026-02-17/08-30-05/0/train.log": (812.44,),
    "29-benchmark-suites-json/hyperfine.json": (8.4412,),
    "29-benchmark-suites-json/gbench.json": (812.4,),
    "29-benchmark-suites-json/pytest.json": (3.2118e-05,),
    "30-mpi-tables/two-layouts.out": (20821.61,),
    "30-mpi-tables/latency.out": (301.62,),
    "30-mpi-tables/collective.out": (123.99, 230.57),
    "31-rates-of-md-codes/v2.out": (0.0802106,),
    "31-rates-of-md-codes/v3.out": (34.285,),
    "31-rates-of-md-codes/g-long.log": (4396.84,),
    "31-rates-of-md-codes/g-short.log": (630.6,),
    "31-rates-of-md-codes/l.log": (41.8822,),
    "32-gates/slower/new.csv": (108.1, 108.3),
    "33-published-rates/total.csv": (87980,),
    "33-published-rates/per-gpu.csv": (2790.3,),
}
WANTED_LABS = {"fabric_2N_ddp.out": (997.4496626853943,), "fabric_2N_deepspeed.out": (1073.7243890762329,), "fabric_2N_dp.out": (5251.746982097626,), "fabric_2N_fsdp.out": (1046.2557353973389,)}
FIRST = 5
SHARE = 0.8


class Scan(StudyTest):
    def scan(self, *arguments, code=0):
        """The files of `scan --format json`."""
        return json.loads(self.hpcbench("scan", "--format", "json", *map(str, arguments), code=code).stdout)["files"]

    def rank(self, path, values):
        """Of the first proposal that shows one of the values, from 1; None without one. And its name."""
        for number, proposal in enumerate(self.scan("--all", path)[0]["proposals"], 1):
            shown = [proposal[key] for key in ("first", "last", "value") if proposal[key] is not None]
            if any(math.isclose(each, value, rel_tol=1e-6) for each in shown for value in values):
                return number, proposal["metric"]["name"]
        return None, "-"

    def test_wanted_number_comes_first(self):
        files = [(CASES / name, name, values) for name, values in WANTED.items()]
        files += [(LABS / name, f"labs/{name}", values) for name, values in WANTED_LABS.items()]
        rows = [(*self.rank(path, values), name) for path, name, values in files]
        table = "\n".join(f"{rank or '-':>4}  {metric:<40} {name}" for rank, metric, name in rows)
        print(table)
        found = sum(rank is not None and rank <= FIRST for rank, _, _ in rows)
        self.assertGreaterEqual(found / len(rows), SHARE, table)
        cases = {name.split("/")[0] for _, _, name in rows}
        good = {name.split("/")[0] for rank, _, name in rows if rank is not None and rank <= FIRST}
        self.assertGreaterEqual(len(good) / len(cases), SHARE, table)

    def test_a_study_reads_what_scan_shows(self):
        for number, path in enumerate([CASES / name for name in WANTED] + [LABS / name for name in WANTED_LABS]):
            with self.subTest(path=path):
                shown = self.scan(path)[0]["proposals"]
                study = self.write(f"{number}/study.yaml", f"experiment: s\ncommand: ['true']\nmatrix: {{log: [a]}}\nimport:\n  - {{files: '{path}'}}\nmetrics:\n" +
                                   "".join(f"  - {proposal['yaml']}\n" for proposal in shown))
                said = self.hpcbench("report", "study.yaml", cwd=study.parent, code=None).stderr
                with sqlite3.connect(study.parent / "results/hpcbench.db") as database:
                    read = json.loads(database.execute("SELECT metrics FROM attempt").fetchone()[0])
                wanted = {proposal["metric"]["name"]: proposal["value"] for proposal in shown if proposal["value"] is not None}
                self.assertEqual({name: read.get(name) for name in wanted}, wanted, said)

    def test_init_from_a_log_makes_a_table(self):
        (self.folder / "train.log").write_bytes((CASES / "01-thousands-after-tps/train.log").read_bytes())
        said = self.hpcbench("init", "study.yaml", "--from-log", "train.log").stderr
        self.assertIn("wrote study.yaml. Next: hpcbench report study.yaml", said)
        self.hpcbench("check", "study.yaml")
        row = self.report("study.yaml")["rows"][0]
        self.assertEqual(row["axes"]["log"], "train.log")
        table = self.hpcbench("report", "study.yaml").stdout
        for value in ("1317972", "8.67", "61.2", "41.66"):
            self.assertIn(value, table)

    def test_init_from_several_logs(self):
        logs = []
        for name in WANTED_LABS:
            (self.folder / name).write_bytes((LABS / name).read_bytes())
            logs += ["--from-log", name]
        self.hpcbench("init", "study.yaml", *logs)
        table = self.hpcbench("report", "study.yaml", "--metric", "total_training_evaluation_time").stdout
        self.assertIn("fabric_2N_ddp.out", table)
        for value in ("997.45", "5251.75", "1046.26"):
            self.assertIn(value, table)

    def test_a_log_is_one_file_whatever_its_name(self):
        for name, loss in (("{x}.log", 1), ("other.log", 9), ("a*.log", 2), ("ab.log", 8)):
            self.write(name, f"step 1 loss: {loss + 0.5}\nstep 2 loss: {loss}\n")
        for name, loss in (("{x}.log", 1), ("a*.log", 2)):
            self.hpcbench("init", f"log{loss}.yaml", "--from-log", name)
            row, = self.report(f"log{loss}.yaml")["rows"]
            self.assertEqual((row["n"], row["median"]), (1, loss), name)
        refused = self.hpcbench("init", "stdin.yaml", "--from-log", "-", code=2)
        self.assertIn("save it as a file", refused.stderr)

    def test_init_with_a_command_reads_its_output(self):
        self.write("train.log", "step 1 loss 2.5\nstep 2 loss 1.5\ntotal time: 3.5 s\n")
        program = "import sys; print(f'step 1 loss 7.5\\nstep 2 loss 0.{sys.argv[1]}\\ntotal time: 4.5 s')"
        self.write("train.py", program + "\n")
        self.hpcbench("init", "study.yaml", "--command", "python3 train.py {{n}}", "--from-log", "train.log")
        self.hpcbench("run", "study.yaml", "--set", "repeats=1", "--set", "matrix.n=[5]")
        row = self.report("study.yaml", "--metric", "loss", "--set", "repeats=1", "--set", "matrix.n=[5]")["rows"][0]
        self.assertEqual(row["median"], 0.5)

    def test_write_keeps_all_other_bytes(self):
        self.write("train.log", "loss: 2.5\nloss: 1.5\n")
        text = "experiment: s   # a study\ncommand: ['true']\nmatrix: {n: [1]}\n\nmetrics:\n  # mine\n  - {name: a, file: x, pattern: '(1)'}   # a\n\n# schedule\nrepeats: 3\n"
        study = self.write("study.yaml", text, mode=0o640)
        (self.folder / "link.yaml").symlink_to("study.yaml")
        said = self.hpcbench("scan", "train.log", "--write", "link.yaml", "--metric", "loss", "--file", "stdout.log").stderr
        self.assertIn("added 1 metric to link.yaml: loss. Next: hpcbench check link.yaml", said)
        added = "  # train.log: 2 values, first 2.5, last 1.5\n  - {name: loss, file: stdout.log, pattern: '^loss: (\\S+)'}\n"
        before, after = text.split("\n\n# schedule")
        self.assertEqual(study.read_text(), f"{before}\n{added}\n# schedule{after}")
        self.assertEqual(study.stat().st_mode & 0o777, 0o640)
        self.assertTrue((self.folder / "link.yaml").is_symlink())
        again = self.hpcbench("scan", "train.log", "--write", "study.yaml", code=2).stderr
        self.assertIn("study.yaml:9:12: error: there is a metric loss already", again)

    def test_write_refuses_and_changes_nothing(self):
        self.write("train.log", "loss: 2.5\n")
        for text, message in [
                ("experiment: s\ncommand: [a]\nmetrics: [{name: a, file: x, pattern: '(1)'}]\n", "study.yaml:3:1: error: lines can only be added to `metrics`"),
                ("{experiment: s, command: [a]}\n", "study.yaml:1:1: error: metrics can only be added to keys"),
                ("experiment: s\ncommand: [a]\nrepeat: 3\n", "study.yaml:3:1: error:")]:
            study = self.write("study.yaml", text)
            self.assertIn(message, self.hpcbench("scan", "train.log", "--write", "study.yaml", code=2).stderr)
            self.assertEqual(study.read_text(), text)
        said = self.hpcbench("scan", "train.log", "--write", "study.yaml", "--metric", "lss", code=2).stderr
        self.assertIn("--metric lss: no number of the files is called so (did you mean `loss`?)", said)

    def test_write_makes_a_new_study(self):
        self.write("train.log", "loss: 2.5\n")
        self.hpcbench("scan", "train.log", "--write", "new.yaml")
        self.assertIn("2.5", self.hpcbench("report", "new.yaml").stdout)

    def test_standard_input_and_packed_logs(self):
        log = (CASES / "21-evaluation-inside-iteration-times/nano.log").read_bytes()
        done = subprocess.run([HPCBENCH, "scan", "-"], input=log, cwd=self.folder, env=self.environment(), capture_output=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"mfu_percent", done.stdout)
        (self.folder / "nano.log").write_bytes(log)
        subprocess.run(["gzip", str(self.folder / "nano.log")], check=True)
        self.assertIn("mfu_percent", self.hpcbench("scan", "nano.log.gz").stdout)

    def test_what_has_no_numbers(self):
        self.write("empty.log", "")
        self.write("words.log", "hello\nworld\n")
        said = self.hpcbench("scan", "empty.log", "words.log").stderr
        self.assertIn("words.log: no number with a label, a unit or a heading", said)
        self.hpcbench("init", "s.yaml", "--from-log", "words.log", code=2)
        self.assertFalse((self.folder / "s.yaml").exists())
        self.assertIn("missing.log is no file that can be read", self.hpcbench("scan", "missing.log", code=2).stderr)

    def test_values_are_not_mixed(self):
        """Traps of the cases: a wrong reading must not be shown."""
        io = {each["metric"]["name"]: each for each in self.scan("--all", CASES / "16-io-test-sections/io.out")[0]["proposals"]}
        self.assertEqual((io["write_bw_mib_per_s"]["first"], io["write_bw_mib_per_s"]["last"]), (388.14, 98.43))
        walls = {each["metric"]["name"]: each for each in self.scan("--all", CASES / "05-durations-in-text/pw-4.out")[0]["proposals"]}
        self.assertEqual(walls["pw_like_wall_s"]["value"], 1143.52)
        ranks = self.scan("--all", CASES / "02-colours-two-ranks/train.log")[0]["proposals"]
        self.assertTrue(all(each["count"] <= 6 for each in ranks if "rank" in each["metric"].get("where", {})), ranks)
        self.assertEqual(next(each["last"] for each in ranks if each["metric"]["name"] == "loss"), 6.05113)

    def test_large_hostile_files_stay_bounded(self):
        megabytes = 64
        with open(self.folder / "line.log", "wb") as file:
            for _ in range(megabytes):
                file.write(b"loss: 1.5 \x00\xff" * 80000)
        with open(self.folder / "labels.log", "w") as file:
            for i in range(300000):
                file.write(f"label{i}x_{i * 7919 % 100003}: {i}.5\n")
        for name in ("line.log", "labels.log"):
            usage = self.memory_of("scan", name)
            self.assertLess(usage, 400 * 1024, name)

    def memory_of(self, *arguments):
        """Of a call, its largest resident memory in KiB."""
        pid = subprocess.Popen(
            [HPCBENCH, *arguments], cwd=self.folder, env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid
        _, status, usage = os.wait4(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0)
        return usage.ru_maxrss

    def test_tutorial(self):
        """Every command of docs/from-a-log.md, in order."""
        page = (ROOT / "docs/from-a-log.md").read_text()
        log = re.search(r"```text\n(.*?)```", page, re.S)[1]
        self.write("train.log", log)
        self.write("train-4gpus.log", log.replace("812", "3107"))
        for block in re.findall(r"```sh\n(.*?)```", page, re.S):
            for line in block.splitlines():
                command = line.split("  # ")[0].strip()
                done = subprocess.run(["bash", "-c", command.replace("hpcbench", HPCBENCH)], cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=60)
                self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    unittest.main()
