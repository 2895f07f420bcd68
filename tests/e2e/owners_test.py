"""Several users and one folder: each one's hpcbench executes, follows, ends and overwrites nothing of another's; reading works.

The users are plain numbers (setpriv), so nothing is added to this machine; that takes root."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import HPCBENCH, PATIENCE_S, StudyTest, alive  # noqa: E402

ANNA, BORIS, GROUP = 61234, 61235, 61236
STUDY = """experiment: k
command: [sh, -c, "sleep {seconds}; echo value 3 $(id -u)"]
matrix: {{a: [1, 2]}}
repeats: {repeats}
metrics: [{{name: v, file: stdout.log, pattern: 'value ([0-9.]+)'}}]
report: {{metric: v}}
"""


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv, for users of its own")
class Owners(StudyTest):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        # A copy, as the build's folder may be closed to other users.
        (self.folder / "bin").mkdir()
        self.program = shutil.copy(HPCBENCH, self.folder / "bin")
        shutil.copytree(pathlib.Path(__file__).parents[2] / "templates", self.folder / "templates")
        self.shared = self.folder / "shared"
        self.shared.mkdir()
        os.chown(self.shared, ANNA, GROUP)
        self.shared.chmod(0o2775)  # as on clusters
        if self.as_boris("true").returncode != 0:
            self.skipTest(f"{self.folder} is closed to other users: a folder above it must let them through")
        self.home = self.folder / "anna"
        self.home.mkdir()
        os.chown(self.home, ANNA, ANNA)
        self.home.chmod(0o700)

    def own(self, path, user, text, mode=0o664):
        path.write_text(text)
        os.chown(path, user, GROUP)
        path.chmod(mode)
        return path

    def study(self, seconds=0, repeats=2, name="s.yaml"):
        return self.own(self.shared / name, ANNA, STUDY.format(seconds=seconds, repeats=repeats))

    def command(self, user, *arguments):
        ids = [f"--reuid={user}", f"--regid={user}", f"--groups={GROUP}"]
        return ["setpriv", *ids, "sh", "-c", 'umask 002; cd "$1" && shift && exec "$@"', "sh", str(self.shared), *arguments]

    def call(self, user, *arguments, code=0, timeout=PATIENCE_S):
        done = subprocess.run(
            self.command(user, self.program, *arguments), env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=timeout)
        if code is not None:
            self.assertEqual(done.returncode, code, f"{arguments}\n{done.stdout}\n{done.stderr}")
        return done

    def as_boris(self, script, code=None):
        done = subprocess.run(self.command(BORIS, "sh", "-c", script), capture_output=True, text=True, timeout=PATIENCE_S)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stderr)
        return done

    def start_as(self, user, *arguments):
        process = subprocess.Popen(
            self.command(user, *arguments), env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.addCleanup(self.reap, process)
        return process

    def claims(self):
        return sorted(self.shared.glob("results/k/*/r01/a1/claim"))

    def test_a_note_of_another_user_is_not_obeyed(self):
        self.study()
        self.call(ANNA, "run", "s.yaml")
        self.assertIn("nothing to do", self.call(ANNA, "run").stderr)
        evil = STUDY.format(seconds=0, repeats=1).replace("echo value 3 $(id -u)", f"id -u > {self.shared}/PWNED")
        self.own(self.shared / "evil.yaml", BORIS, evil)
        note = '{"schema":1,"experiment":"k","file":"%s/evil.yaml","profile":"","site":"","settings":[]}' % self.shared
        self.own(self.shared / "note.json", BORIS, note)
        self.assertNotEqual(self.as_boris("cp note.json results/last_run.json").returncode, 0)  # in place
        self.as_boris("mv -f note.json results/last_run.json", code=0)
        said = self.call(ANNA, "run", code=3).stderr
        self.assertIn("another user wrote, or may write, the note", said)
        self.assertIn("name the experiment file", said)
        self.assertFalse((self.shared / "PWNED").exists())
        self.call(ANNA, "run", "s.yaml")  # notes it again
        self.assertIn("nothing to do", self.call(ANNA, "run").stderr)

    def test_others_cannot_change_what_is_executed(self):
        self.study(seconds=1)
        run = self.start_as(ANNA, self.program, "run", "s.yaml")
        self.wait_for(lambda: len(list(self.shared.glob("results/k/*/r02/a1/run.json"))) == 2, "the files of later attempts")
        attack = ("for f in results/k/*/r*/a1/run.json results/k/batches/*/attempts.txt; do echo x > $f; echo x > $f.new; "
                  "mv -f $f.new $f; rm -f $f; d=${f%/*}; mv $d $d.old; done")
        self.as_boris(attack)
        self.assertEqual(run.wait(timeout=PATIENCE_S), 0, run.stdout.read())
        self.assertEqual([row["n"] for row in self.rows(BORIS)], [2, 2])

    def rows(self, user):
        return json.loads(self.call(user, "report", "k", "--format", "json").stdout)["rows"]

    def test_a_reader_cannot_keep_the_owner_waiting(self):
        self.study(repeats=1)
        self.call(ANNA, "run", "s.yaml")
        lock = self.shared / "results/k/lock"
        self.assertNotEqual(self.as_boris(f"cat {lock}").returncode, 0)
        for alone in self.shared.glob("results/k/*/r01/a1/alive"):
            self.assertNotEqual(self.as_boris(f"cat {alone}").returncode, 0)
        # A lock that an earlier version left readable is closed to others by the next run.
        lock.chmod(0o664)
        self.study(repeats=2)
        self.call(ANNA, "run", "s.yaml")
        self.assertEqual(lock.stat().st_mode & 0o777, 0o600)

    def test_links_are_not_followed(self):
        self.study(repeats=1)
        self.call(ANNA, "run", "s.yaml")
        results = self.shared / "results/k"
        for name in ("lock", "hpcbench.log"):
            self.assertNotEqual(self.as_boris(f"ln -sf /etc/passwd {results}/{name}").returncode, 0)
        precious = self.own(self.home / "precious", ANNA, "precious", 0o600)
        for name, code in (("hpcbench.log", 0), ("lock", 3)):  # as an earlier version's folder allowed
            (results / name).unlink()
            (results / name).symlink_to(precious)
            self.study(repeats=2)
            self.assertIn("no plain file, and hpcbench follows no links there", self.call(ANNA, "run", "s.yaml", code=code).stderr)
            self.assertEqual(precious.read_text(), "precious")
            (results / name).unlink()

    def test_cancel_ends_the_attempt_and_never_what_a_forged_claim_names(self):
        self.study(seconds=100, repeats=1)
        run = self.start_as(ANNA, self.program, "run", "s.yaml")
        self.wait_for(lambda: self.claims() and "start_ticks" in self.claims()[0].read_text(), "a claim")
        victim = self.start_as(ANNA, "sleep", "300")
        self.wait_for(lambda: pathlib.Path(f"/proc/{victim.pid}/comm").read_text() == "sleep\n", "the other process")
        claim = self.claims()[0]
        ticks = pathlib.Path(f"/proc/{victim.pid}/stat").read_text().rpartition(")")[2].split()[19]
        lines = [line.split(" ", 1) for line in claim.read_text().splitlines()]
        launcher = int(dict(lines)["pid"])
        forged = {"pid": str(victim.pid), "start_ticks": ticks}
        claim.write_text("".join(f"{key} {forged.get(key, value)}\n" for key, value in lines))
        run.send_signal(signal.SIGKILL)
        run.wait()
        self.assertTrue(alive(launcher))
        self.call(ANNA, "cancel", "s.yaml", "--yes")
        self.assertTrue(alive(victim.pid))
        self.assertFalse(alive(launcher))

    def test_files_that_changed_after_submission_are_not_executed(self):
        self.study(seconds=2, repeats=1)
        run = self.start_as(ANNA, self.program, "run", "s.yaml")
        pattern = "results/k/*/r01/a1/run.json"
        self.wait_for(lambda: len(list(self.shared.glob(pattern))) == 2 and self.claims(), "the first attempt")
        waiting = [path for path in self.shared.glob(pattern) if not (path.parent / "claim").exists()]
        for path in waiting:
            path.write_text(path.read_text().replace("echo value 3", f"id -u > {self.shared}/PWNED; echo value 3"))
        self.assertEqual(run.wait(timeout=PATIENCE_S), 1 if waiting else 0)
        self.assertFalse((self.shared / "PWNED").exists())
        if waiting:
            self.assertIn("changed after the attempt was submitted; nothing of it was executed", run.stdout.read())

    def test_reading_works_and_leaves_nothing_behind(self):
        self.study(repeats=1)
        self.call(ANNA, "run", "s.yaml")
        secret = self.own(self.folder / "boris.key", BORIS, "secret 42.5", 0o600)
        experiment = (self.shared / "s.yaml").read_text() + f'import: [{{files: "{secret}", run: {{a: 1}}, values: {{v: 1}}}}]\n'
        self.own(self.shared / "s.yaml", ANNA, experiment)
        self.own(self.shared / "results/k/experiment.yaml", ANNA, experiment)
        before = {path: path.stat().st_mtime_ns for path in self.shared.rglob("*")}
        for arguments in (["report", "k"], ["report", "s.yaml"], ["status", "k"], ["show", "k/a=1/r01"], ["ls"]):
            said = self.call(BORIS, *arguments, code=None)
            self.assertIn(said.returncode, (0, 1), said.stderr)
            self.assertIn(f"belongs to {ANNA}", said.stderr)
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.shared.rglob("*")}, before)
        for arguments in (["run", "s.yaml"], ["retry", "s.yaml"], ["cancel", "s.yaml", "--yes"], ["clean", "s.yaml", "--remove", "all"],
                          ["set-aside", "k/a=1/r01", "--why", "x"]):
            self.assertIn(f"belongs to {ANNA}: only that user", self.call(BORIS, *arguments, code=3).stderr)
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.shared.rglob("*")}, before)

    def test_each_user_has_studies_in_one_results_folder(self):
        self.study(repeats=1)
        self.call(ANNA, "run", "s.yaml")
        self.own(self.shared / "b.yaml", BORIS, STUDY.format(seconds=0, repeats=1).replace("experiment: k", "experiment: b"))
        self.call(BORIS, "run", "b.yaml")
        self.call(ANNA, "compare", "k", "b")
        self.study(repeats=2)
        self.call(ANNA, "run", "s.yaml")

    def test_a_folder_that_others_could_write_is_closed_to_them(self):
        self.study(repeats=1)
        self.call(ANNA, "run", "s.yaml")
        (self.shared / "results/k").chmod(0o2775)
        self.assertIn("now they can only read it", self.call(ANNA, "run", "s.yaml").stderr)
        self.assertEqual((self.shared / "results/k").stat().st_mode & 0o7777, 0o2755)


if __name__ == "__main__":
    unittest.main()
