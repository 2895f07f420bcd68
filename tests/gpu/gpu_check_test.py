"""scripts/gpu-check.sh on the CPU: its steps, its report, and that nothing ends it early."""
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).parent))
from artifacts import keep_report  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("HPCBENCH_PROGRAMS", ROOT / "build/default/bin"))
SCRIPT = ROOT / "scripts/gpu-check.sh"
STEPS = ["facts", "start", "parity", "speed", "scaling", "profile", "faults", "collectives"]


class GpuCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, *arguments, script=SCRIPT, programs=PROGRAMS):
        """(exit code, report): --cpu, into `out`."""
        out = self.folder / "out"
        given = ["--programs", programs] if programs else []
        done = subprocess.run([script, "--cpu", "--out", out, *given, *arguments], cwd=self.folder, capture_output=True, text=True)
        self.assertTrue((out / "report.json").exists(), done.stdout + done.stderr)
        self.page = (out / "report.html").read_text()
        return done.returncode, json.loads((out / "report.json").read_text())

    def test_all_steps_run_and_say_what_they_found(self):
        code, report = self.check("--minutes", "6")
        keep_report(self.folder / "out", "gpu-check-cpu", PROGRAMS)
        self.assertEqual([step["name"] for step in report["steps"]], STEPS)
        steps = {step["name"]: step for step in report["steps"]}
        told = {name: (step["status"], step["reason"]) for name, step in steps.items()}
        for name in STEPS:
            self.assertIn(steps[name]["question"], self.page)
            if name != "faults":  # whose times are judged, although others may use this machine
                self.assertIn(told[name][0], ("passed", "not measured"), told)
            for row in steps[name]["rows"]:
                self.assertIn(row["status"], ("passed", "failed", "not measured", "note"))
                self.assertTrue(row["status"] in ("passed", "note") or row["why"], row)
        self.assertIn("a peer hangs after the first step", [row["name"] for row in steps["faults"]["rows"]])
        self.assertEqual(code, 1 if steps["faults"]["status"] == "failed" else 0, told)
        self.assertEqual(told["profile"], ("not measured", "kernels of a GPU are what is counted"))
        self.assertEqual([row["status"] for row in steps["speed"]["rows"] if row["name"] == "MFU"], ["not measured"])
        parity = [row for row in steps["parity"]["rows"] if row["status"] == "passed"]
        self.assertGreater(len(parity), 0)
        for row in parity:
            self.assertLessEqual(row["largest_difference"], row["at_most"])

    def test_a_step_that_fails_is_named_and_does_not_end_the_rest(self):
        for program, text in (("hpcbench", "#!/bin/sh\nexit 1\n"), ("hpcbench-train", "#!/bin/sh\necho 'no such thing here' >&2\nexit 3\n")):
            (self.folder / program).write_text(text)
            (self.folder / program).chmod(0o755)
        code, report = self.check("--minutes", "1", "--only", "start", "--only", "parity", "--only", "scaling", programs=self.folder)
        self.assertEqual([(step["name"], step["status"]) for step in report["steps"]], [("start", "failed"), ("parity", "failed"), ("scaling", "failed")])
        self.assertEqual(code, 1)
        self.assertEqual({row["why"] for row in report["steps"][0]["rows"]}, {"no such thing here"})
        self.assertIn("no such thing here", self.page)

    def test_what_does_not_end_in_time_is_ended_and_said(self):
        (self.folder / "hpcbench").write_text("#!/bin/sh\nexit 1\n")
        (self.folder / "hpcbench-train").write_text("#!/bin/sh\nexec sleep 600\n")
        for program in ("hpcbench", "hpcbench-train"):
            (self.folder / program).chmod(0o755)
        code, report = self.check("--minutes", "0.05", "--only", "start", programs=self.folder)
        rows = report["steps"][0]["rows"]
        self.assertEqual([row["status"] for row in rows], ["failed", "not measured"], rows)
        self.assertEqual(code, 1)

    def test_a_bundle_is_small_and_works_alone(self):
        bundle = self.folder / "bundle.tar.gz"
        subprocess.run([SCRIPT, "--bundle", bundle, "--programs", PROGRAMS], check=True, capture_output=True)
        self.assertLessEqual(bundle.stat().st_size, 60_000_000)
        with tarfile.open(bundle) as packed:
            packed.extractall(self.folder)
        code, report = self.check("--minutes", "2", "--only", "start", "--only", "scaling", script=self.folder / "hpcbench-gpu-check/scripts/gpu-check.sh", programs=None)
        self.assertEqual([step["status"] for step in report["steps"]], ["passed", "passed"], report)
        self.assertEqual(code, 0)

    def test_mistakes_are_told(self):
        for arguments, part in ((["--minuets", "3"], "unknown option --minuets"), (["--minutes", "soon"], "is no number"), (["--out"], "--out needs a value")):
            done = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn(part, done.stderr)


if __name__ == "__main__":
    unittest.main()
