"""Values that are NaN or infinite: absent for the reason `nan`, counted, and with advice that works."""
import pathlib
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

STUDY = """
experiment: train
command: [bash, train.sh, "{{lr}}", "{{run_dir}}"]
launch: once
matrix: {lr: [1, 2]}
repeats: 2
metrics:
  - {name: loss, file: stdout.log, pattern: 'loss=([0-9.]+)'}
  - {name: twice, formula: 2 * loss}
  - {name: speed, file: stdout.log, pattern: 'speed=([0-9.]+)', take: median, unit: samples/s}
  - {name: tpot, file: result.json, pointer: /mean_tpot_ms}
report: {metric: speed}
"""
# With lr 2 the loss becomes nan from the third step on, and the program exits with 0.
TRAIN = """
for step in 1 2 3 4; do
  loss=0.$step; if [ "$1" = 2 ] && [ $step -gt 2 ]; then loss=nan; fi
  echo "step=$step, loss=$loss, speed=30.$step"
done
echo '{"request_rate": Infinity, "mean_tpot_ms": NaN}' > "$2/result.json"
"""


class OwnRuns(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("train.sh", TRAIN)
        self.write("train.yaml", STUDY)

    def test_a_loss_that_becomes_nan_is_counted_and_warned_of_everywhere(self):
        told = self.hpcbench("run", "train.yaml").stderr
        self.assertIn("loss is nan: 2 of 4 values are not finite, the first is `nan` at stdout.log:3; the last value is one of them", told)
        self.assertNotIn("Mend it", told)
        text = self.hpcbench("report", "train.yaml").stdout
        self.assertIn("2 succeeded (2 nan)", text)
        self.assertIn("diverged: lr=2: loss is nan in 2 of 2 runs that succeeded (2 of 4 values are not finite", text)
        self.assertIn("tpot is nan in 2 of 2 runs", text)
        for form in ("markdown", "html", "csv", "latex"):
            self.assertIn("2 succeeded (2 nan)", self.hpcbench("report", "train.yaml", "--format", form).stdout, form)
        rows = {row["axes"]["lr"]: row for row in self.report("train.yaml")["rows"]}
        self.assertEqual(("nan" in rows[1], rows[2]["nan"]), (False, 2))
        self.assertIn("diverged", rows[2]["warnings"])
        self.assertNotIn("diverged", rows[1]["warnings"])
        self.assertEqual([run["reason"] for run in rows[2]["runs"]], ["nan: loss"] * 2)
        rows = {row["axes"]["lr"]: row for row in self.report("train.yaml", "--metric", "twice")["rows"]}
        self.assertEqual((rows[1]["median"], rows[2]["median"], rows[2]["n"]), (0.8, None, 0))
        self.assertRegex(self.hpcbench("show", "lr=2/r01").stdout, r"(?m)^loss +nan$")
        self.assertIn("metric loss: no value in 2 of 4 runs that succeeded, 2 of them nan", self.hpcbench("status", "train.yaml").stdout)
        entry = [each for each in self.status("train.yaml")["without_value"] if each["metric"] == "loss"][0]
        self.assertEqual((entry["runs"], entry["nan"]), (2, 2))

    def test_the_advice_works_when_followed(self):
        self.hpcbench("run", "train.yaml")
        warning = [w for w in self.report("train.yaml")["warnings"] if w["code"] == "diverged"][0]
        advised = warning["advice"].split("`")[1]
        self.write("train.yaml", STUDY + advised + "\n")
        report = self.report("train.yaml")
        rows = {row["axes"]["lr"]: row for row in report["rows"]}
        self.assertEqual((rows[1]["outcomes"]["succeeded"], rows[2]["outcomes"]), (2, {"succeeded": 0, "failed": 2}))
        self.assertIn("success requires loss < 1e300: loss is nan", rows[2]["runs"][0]["reason"])
        self.assertNotIn("diverged", [w["code"] for w in report["warnings"]])

    def test_the_advice_works_with_take(self):
        taken = STUDY.replace("'loss=([0-9.]+)'}", "'loss=([0-9.]+)', take: median}")
        self.write("train.yaml", taken)
        self.hpcbench("run", "train.yaml")
        report = self.report("train.yaml")
        advised = [w for w in report["warnings"] if w["code"] == "diverged"][0]["advice"].split("`")[1]
        self.write("train.yaml", taken + advised + "\n")
        report = self.report("train.yaml")
        self.assertEqual([row["outcomes"]["succeeded"] for row in report["rows"]], [2, 0])
        self.assertNotIn("diverged", [w["code"] for w in report["warnings"]])

    def test_all_runs_nan_is_a_table_not_an_error(self):
        self.write("train.yaml", STUDY.replace("[1, 2]", "[2]"))
        self.hpcbench("run", "train.yaml")
        report = self.report("train.yaml", "--metric", "loss")
        self.assertEqual((report["rows"][0]["n"], report["rows"][0]["nan"]), (0, 2))


class Imports(StudyTest):
    def test_tables_logs_events_and_json(self):
        self.write("runs.csv", "lr,loss,time_s\n1,0.5,4\n1,nan,3\n2,-Infinity,5\n")
        self.write("train.log", "loss=0.5\nloss=nan\n")
        self.write("events.jsonl", '{"event":"epoch","epoch":1,"loss":0.5}\n{"event":"epoch","epoch":2,"loss":NaN}\n')
        self.write("old.yaml", """
experiment: old
command: ["true"]
launch: once
matrix: {lr: [1, 2]}
metrics: [{name: loss, file: "*.log", pattern: 'loss=([0-9.]+)'}]
import: [runs.csv, {files: train.log, run: {lr: 2}}, {files: events.jsonl, run: {lr: 2}}]
report: {metric: loss}
""")
        report = self.report("old.yaml")
        rows = {row["axes"]["lr"]: row for row in report["rows"]}
        self.assertEqual((rows[1]["n"], rows[1]["median"], rows[1]["nan"]), (1, 0.5, 1))
        self.assertEqual((rows[2]["n"], rows[2]["median"], rows[2]["nan"]), (0, None, 3))
        advice = [w for w in report["warnings"] if w["code"] == "diverged"][0]["advice"].split("`")[1]
        with open(self.folder / "old.yaml", "a") as file:
            file.write(advice + "\n")
        rows = {row["axes"]["lr"]: row for row in self.report("old.yaml")["rows"]}
        self.assertEqual((rows[1]["outcomes"], rows[2]["outcomes"]), ({"succeeded": 1, "failed": 1}, {"succeeded": 0, "failed": 3}))


def crc32c_masked(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF)


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


def event_file(tag, values):
    """Scalars as TensorBoard has them: records of length, checksum, event, checksum."""
    out = b""
    for step, value in enumerate(values, 1):
        scalar = field(1, tag.encode()) + b"\x15" + struct.pack("<f", value)
        event = b"\x09" + struct.pack("<d", 0) + bytes([0x10, step]) + field(5, field(1, scalar))
        length = struct.pack("<Q", len(event))
        out += length + crc32c_masked(length) + event + crc32c_masked(event)
    return out


class TensorBoard(StudyTest):
    def test_a_scalar_that_becomes_nan_is_absent_for_that_reason(self):
        for lr, last in ((1, 0.25), (2, float("nan")), (3, float("inf"))):
            (self.folder / f"events.out.tfevents.{lr}").write_bytes(event_file("train/loss", [0.75, 0.5, last]))
        self.write("tb.yaml", """
experiment: tb
command: ["true", "{{lr}}"]
launch: once
matrix: {lr: [1, 2, 3]}
metrics:
  - {name: loss, file: '*tfevents*', tag: train/loss}
  - {name: least, file: '*tfevents*', tag: train/loss, take: min}
report: {metric: loss}
import: [EVENTS]
""".replace("EVENTS", ", ".join(f"{{files: events.out.tfevents.{lr}, run: {{lr: {lr}}}}}" for lr in (1, 2, 3))))
        rows = {row["axes"]["lr"]: row for row in self.report("tb.yaml")["rows"]}
        self.assertEqual((rows[1]["n"], rows[1]["median"], "nan" in rows[1]), (1, 0.25, False))
        for lr in (2, 3):
            self.assertEqual((rows[lr]["n"], rows[lr]["median"], rows[lr]["nan"]), (0, None, 1))
            self.assertEqual([run["reason"] for run in rows[lr]["runs"]], ["nan: loss"])
            self.assertIn("diverged", rows[lr]["warnings"])
        least = {row["axes"]["lr"]: row["median"] for row in self.report("tb.yaml", "--metric", "least")["rows"]}
        self.assertEqual(least, {1: 0.25, 2: 0.5, 3: 0.5})


if __name__ == "__main__":
    unittest.main()
