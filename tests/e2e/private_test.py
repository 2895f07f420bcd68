"""Private studies stay private, and secrets of the environment are in no file."""
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

SECRETS = {"HF_TOKEN": "sekrit-1", "AWS_SECRET_ACCESS_KEY": "sekrit-2", "OPENAI_API_KEY": "sekrit-3", "DB_PASSWORD": "sekrit-4"}
STUDY = """experiment: private
command: [sh, -c, 'test -n "$HF_TOKEN" && echo value 3; exit {{code}}']
matrix: {code: [0, 1]}
repeats: 1
prepare: {data: {command: [sh, -c, 'test -n "$DB_PASSWORD"']}}
setup: ["true"]
metrics: [{name: v, file: stdout.log, pattern: 'value ([0-9.]+)'}]
report: {metric: v}
import: [{files: old.log, run: {code: 0}}]
"""


class Private(StudyTest):
    def carry_out(self):
        self.write("s.yaml", STUDY)
        self.write("stdout.log", "value 4\n")
        self.write("old.log", "value 4\n")
        texts = []
        for arguments in (
            ["run", "s.yaml", "--log-level", "debug"], ["retry"], ["report"], ["report", "--methods"], ["status"],
            ["report", "--format", "html", "-o", "r.html"], ["report", "--format", "json", "-o", "r.json"],
            ["show", "private/code=0/r01"], ["show", "private/code=1/r01"], ["doctor", "s.yaml"], ["plan", "s.yaml"],
            ["export", "-o", "all.tar.zst"], ["ls"],
        ):
            done = self.hpcbench(*arguments, code=None, env=SECRETS)
            self.assertIn(done.returncode, (0, 1), f"{arguments}: {done.stderr}")
            texts.append(done.stdout + done.stderr)
        subprocess.run(["zstd", "-q", "-d", "all.tar.zst"], cwd=self.folder, check=True)
        return "\n".join(texts)

    def test_secrets_of_the_environment_are_nowhere(self):
        said = self.carry_out()
        values = [row["n"] for row in self.report()["rows"] if row["axes"]["code"] == 0]
        self.assertEqual(values, [2])  # the run that saw its token, and the import
        self.assertNotIn("sekrit", said)
        files = [path for path in self.folder.rglob("*") if path.is_file()]
        self.assertGreater(len(files), 20)
        self.assertEqual([str(path) for path in files if b"sekrit" in path.read_bytes()], [])

    def test_files_are_for_nobody_else_under_umask_077(self):
        before = os.umask(0o077)
        self.addCleanup(os.umask, before)
        self.carry_out()
        results = [self.folder / "results", *(self.folder / "results").rglob("*")]
        self.assertGreater(len(results), 20)
        self.assertEqual([str(path) for path in results if path.stat().st_mode & 0o077], [])

    def test_a_secret_in_the_experiment_file_is_refused(self):
        self.write("s.yaml", STUDY + "environment: {HF_TOKEN: sekrit-1, TOKENIZERS_PARALLELISM: false}\n")
        said = self.hpcbench("run", "s.yaml", code=2).stderr
        self.assertIn("s.yaml:10:25: error: `environment.HF_TOKEN` looks like a secret", said)
        self.assertIn("export HF_TOKEN=...", said)
        self.assertFalse((self.folder / "results").exists())


if __name__ == "__main__":
    unittest.main()
