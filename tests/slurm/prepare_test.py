"""Preparations of a study on a real Slurm: made where `run` is called, or by jobs of their own, before what needs them is submitted."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_harness import SlurmTest, without_hash  # noqa: E402

STUDY = """
experiment: made
prepare:
  build:
    command: [bash, -c, 'echo "{{flag}} ${SLURM_JOB_ID:-here}" >> made.txt; . ./act; echo {{flag}} > {{build.dir}}/out']
    environment: {FLAG: "{{flag}}"}
    on: login
command: [cat, "{{build.dir}}/out"]
launch: once
matrix: {flag: [one, two]}
repeats: 2
resources: {time: "00:02:00"}
"""

BY_JOBS = """
experiment: made
prepare:
  data: {command: [bash, -c, "echo data >> made.txt; echo 5 > {{data.dir}}/n"]}
  build:
    command: [bash, -c, ". ./act; echo {{flag}} ${SLURM_JOB_NAME%%.*} $SLURM_CPUS_PER_TASK $OMP_NUM_THREADS >> made.txt; echo {{flag}} $(cat {{data.dir}}/n) > {{build.dir}}/out"]
    environment: {FLAG: "{{flag}}"}
    on: job
    resources: {cpus_per_task: 2, time: "00:05:00"}
command: [cat, "{{build.dir}}/out"]
launch: once
matrix: {flag: [one, two]}
repeats: 2
resources: {time: "00:02:00"}
"""


class PrepareTest(SlurmTest):
    def setUp(self):
        super().setUp()
        self.site = str(self.write("site.yaml", "executor: slurm\n"))
        self.write("made.yaml", STUDY)
        self.write("act", 'test "$FLAG" = one || exit 1\n')

    def made(self):
        return sorted((self.folder / "made.txt").read_text().splitlines())

    def stdouts(self):
        return sorted(path.read_text() for path in self.folder.glob("results/made/*/r*/a1/stdout.log"))

    def test_builds_are_made_here_before_their_jobs_are_submitted(self):
        before = len(self.cluster.jobs())
        detached = self.hpcbench("run", "made.yaml", "--site", self.site, "--detach", code=1).stderr
        self.assertIn("prepare: build failed: exit code 1", detached)
        self.assertEqual(self.made(), ["one here", "two here"])
        self.hpcbench("run", "made.yaml", "--site", self.site, code=1)
        self.assertEqual(self.stdouts(), ["one\n"] * 2)
        self.assertEqual(len(self.cluster.jobs()) - before, 2)
        self.write("act", "true\n")
        self.hpcbench("retry", "made.yaml", "--site", self.site, "--prepare", "build")
        self.assertEqual(self.stdouts(), ["one\n"] * 2 + ["two\n"] * 2)
        self.assertEqual(self.made(), ["one here", "two here", "two here"])

    def folders(self):
        return sorted(str(path.relative_to(self.folder / "results/made/prepare")).split("-")[0] + "/" + path.name
                      for path in self.folder.glob("results/made/prepare/*/a*"))

    def by_jobs(self, act="true"):
        self.write("made.yaml", BY_JOBS)
        self.write("act", act + "\n")

    def test_jobs_make_them_all_at_once_before_their_runs_are_submitted(self):
        self.by_jobs()
        self.hpcbench("run", "made.yaml", "--site", self.site)
        self.assertEqual(self.made(), ["data", "one made 2 2", "two made 2 2"])
        self.assertEqual(self.stdouts(), ["one 5\n"] * 2 + ["two 5\n"] * 2)
        self.assertEqual(self.folders(), ["build/a1", "build/a1", "data/a1"])

    def test_plan_writes_the_scripts_of_their_jobs_as_they_are_submitted(self):
        self.by_jobs()
        said = self.hpcbench("plan", "made.yaml", "--site", self.site, "--scripts", "scripts").stderr
        self.assertIn("3 batch scripts", said)
        planned = {path.parent.name: path.read_text() for path in self.folder.glob("scripts/batches/*/job.sh")}
        self.hpcbench("run", "made.yaml", "--site", self.site)
        submitted = {path.parent.name: path.read_text() for path in self.folder.glob("results/made/batches/*/job.sh")}
        self.assertEqual(sorted(text.replace(name, "ID") for name, text in planned.items()),
                         sorted(without_hash(text).replace(name, "ID") for name, text in submitted.items()))

    def test_detach_submits_them_and_the_next_call_goes_on(self):
        self.by_jobs("until test -e go; do sleep 0.1; done")
        said = self.hpcbench("run", "made.yaml", "--site", self.site, "--detach").stderr
        self.assertIn("detached: 2 preparations are made without this call", said)
        self.assertIn("not begun: build is being made in", self.hpcbench("status", "made.yaml", "--site", self.site, "--all").stdout)
        self.assertIn("would be taken up", self.hpcbench("run", "made.yaml", "--site", self.site, "--dry-run").stdout)
        self.write("go", "")
        self.hpcbench("run", "made.yaml", "--site", self.site)
        self.assertEqual(self.made(), ["data", "one made 2 2", "two made 2 2"])
        self.assertEqual(self.folders(), ["build/a1", "build/a1", "data/a1"])

    def test_cancel_ends_them_and_retry_makes_them_again(self):
        self.by_jobs("test $FLAG = one || test -e go || sleep 600")
        self.hpcbench("run", "made.yaml", "--site", self.site, "--detach")
        # One of them ends at once, the other only when it is asked to.
        self.wait_for(lambda: len(list(self.folder.glob("results/made/prepare/build-*/a1/started.json"))) == 2, "both builds have begun")
        said = self.hpcbench("cancel", "made.yaml", "--site", self.site, "--yes").stderr
        self.assertRegex(said, "preparations: [12] running ended, 0 not begun revoked")
        said = self.hpcbench("run", "made.yaml", "--site", self.site, code=1).stderr
        self.assertIn("prepare: build failed: cancelled", said)
        self.write("go", "")
        self.hpcbench("retry", "made.yaml", "--site", self.site, "--prepare", "build")
        self.assertEqual(self.stdouts(), ["one 5\n"] * 2 + ["two 5\n"] * 2)

    def test_scancel_fails_it_and_says_so(self):
        self.by_jobs("test $FLAG = one || sleep 600")
        self.hpcbench("run", "made.yaml", "--site", self.site, "--detach")
        self.wait_for(lambda: len(list(self.folder.glob("results/made/prepare/build-*/a1/started.json"))) == 2, "both run")
        for path in self.folder.glob("results/made/prepare/build-*/a1"):
            if '"FLAG":"two"' in (path / "run.json").read_text():
                job = json.loads((path / "started.json").read_text())["job"]
        self.cluster.tool("scancel", job)
        said = self.hpcbench("run", "made.yaml", "--site", self.site, code=1).stderr
        self.assertIn("prepare: build failed: Slurm job", said)
        self.assertIn("CANCELLED", said)
        self.assertEqual(self.stdouts(), ["one 5\n"] * 2)


if __name__ == "__main__":
    unittest.main()
