"""Preparations of a study on a real Slurm: they are made where `run` is called, before any job is submitted."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from slurm_harness import SlurmTest  # noqa: E402

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
        detached = self.hpcbench("run", "made.yaml", "--site", self.site, "--detach", code=1).stderr
        self.assertIn("prepare: build failed: exit code 1", detached)
        self.assertEqual(self.made(), ["one here", "two here"])
        self.hpcbench("run", "made.yaml", "--site", self.site, code=1)
        self.assertEqual(self.stdouts(), ["one\n"] * 2)
        self.assertEqual(len(self.cluster.jobs()), 2)
        self.write("act", "true\n")
        self.hpcbench("retry", "made.yaml", "--site", self.site, "--prepare", "build")
        self.assertEqual(self.stdouts(), ["one\n"] * 2 + ["two\n"] * 2)
        self.assertEqual(self.made(), ["one here", "two here", "two here"])


if __name__ == "__main__":
    unittest.main()
