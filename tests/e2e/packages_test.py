"""The demo, and the packages that scripts/release.sh makes of an installed tree: installed and called as a person does."""
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import HPCBENCH, PATIENCE_S, PROGRAMS, ROOT, StudyTest  # noqa: E402

TRY = ROOT / "scripts/try-program.sh"


class Demo(StudyTest):
    def test_a_table_and_nothing_twice(self):
        first = self.hpcbench("demo", "my demo")
        rows = [line for line in first.stdout.splitlines() if re.match(r"\| [12] \|", line)]
        self.assertEqual(len(rows), 4, first.stdout)
        for row in rows:
            self.assertIn("6 succeeded", row)
        self.assertIn("Next: cd 'my demo'", first.stderr)
        again = self.hpcbench("demo", "my demo")
        self.assertIn("nothing to do", again.stderr)
        self.assertEqual(again.stdout, first.stdout)
        self.hpcbench("check", "my demo/demo.yaml")

    def test_files_of_others_stay(self):
        self.write("demo/work.py", "mine\n")
        self.assertIn("name another folder", self.hpcbench("demo", "demo", code=2).stderr)
        self.assertEqual((self.folder / "demo/work.py").read_text(), "mine\n")


class Packages(StudyTest):
    @classmethod
    def setUpClass(cls):
        build = PROGRAMS.parent
        for program in ("cmake", "zstd", "readelf"):
            if shutil.which(program) is None:
                raise unittest.SkipTest(f"{program} is not installed")
        if not (build / "runner/cmake_install.cmake").exists():
            raise unittest.SkipTest(f"{build} is no build folder")

    def run_here(self, *command, env=None):
        done = subprocess.run([str(word) for word in command], cwd=self.folder, env=self.environment(env), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_wheel_archive_and_checksums(self):
        tree = self.folder / "tree"
        self.run_here("cmake", "--install", PROGRAMS.parent, "--prefix", tree, "--strip")
        (tree / "bin/hpcbench-train").unlink(missing_ok=True)
        said = self.run_here(ROOT / "scripts/release.sh", "--installed", tree, "--out", self.folder / "out", "--untried")
        self.assertIn(".whl", said)
        names = {path.suffix for path in (self.folder / "out").iterdir()}
        self.assertEqual(names, {".whl", ".zst", ""})
        wheel = next((self.folder / "out").glob("*.whl"))
        self.assertLess(wheel.stat().st_size, 15e6)
        self.run_here("bash", "-c", "cd out && sha256sum --check --quiet SHA256SUMS")

        # Again, from a copy with other dates: the same bytes.
        shutil.copytree(tree, self.folder / "copy", copy_function=shutil.copy)
        self.run_here(ROOT / "scripts/release.sh", "--installed", self.folder / "copy", "--out", self.folder / "again", "--untried")
        self.assertEqual((self.folder / "out/SHA256SUMS").read_text(), (self.folder / "again/SHA256SUMS").read_text())

        self.try_wheel(wheel)
        self.try_archive(next((self.folder / "out").glob("*.tar.zst")))
        with zipfile.ZipFile(wheel) as archive:
            self.assertIsNone(archive.testzip())
            names = archive.namelist()
        for name in ("hpcbench/events.py", "hpcbench/lightning.py", "hpcbench/transformers.py", "hpcbench/py.typed"):
            self.assertIn(name, names)
        for name in ("share/hpcbench/schema/experiment.json", "share/hpcbench/templates/job.sh.mustache", "share/man/man1/hpcbench-run.1"):
            self.assertTrue(any(entry.endswith(name) for entry in names), name)

    def try_wheel(self, wheel):
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
            return
        self.run_here(sys.executable, "-m", "venv", "--without-pip", "venv")
        self.run_here(sys.executable, "-m", "pip", "--python", "venv/bin/python", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel)
        self.assertEqual(self.run_here("venv/bin/hpcbench", "--version"), self.hpcbench("--version").stdout)
        found = self.run_here("venv/bin/python", "-c", "import hpcbench, hpcbench.events; print(hpcbench.find_program())")
        self.assertEqual(found.strip(), str(self.folder / "venv/bin/hpcbench"))
        self.run_here("venv/bin/hpcbench", "init", "new.yaml")
        self.run_here("venv/bin/hpcbench", "plan", "new.yaml", "--site", "cpu")
        self.run_here(TRY, self.folder / "venv/bin/hpcbench", self.hpcbench("--version").stdout.strip())

    def try_archive(self, archive):
        (self.folder / "elsewhere").mkdir()
        self.run_here("tar", "--extract", "--zstd", "--directory", "elsewhere", "--file", archive)
        program = next((self.folder / "elsewhere").glob("*/bin/hpcbench"))
        self.run_here(program, "init", "moved.yaml")
        self.run_here(program, "plan", "moved.yaml", "--site", "cpu", "--scripts", "scripts")
        self.run_here(TRY, program, self.hpcbench("--version").stdout.strip())

    def test_a_program_that_says_or_reports_something_else_is_refused(self):
        version = self.hpcbench("--version").stdout.strip()
        for words, says in (([HPCBENCH, "hpcbench 0.0.0"], "--version says"), ([self.write("silent", "#!/bin/sh\n", 0o755), version], "--version says"),
                            ([self.write("idle", f"#!/bin/sh\necho {shlex.quote(version)}\n", 0o755), version], "the report has no row")):
            done = subprocess.run([TRY, *words], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(says, done.stderr)

    def roots(self, code):
        """scripts/release-roots.sh where there is no debootstrap."""
        (self.folder / "few").mkdir(exist_ok=True)
        for name in ("bash", "dirname", "id", "unshare", "chroot", "sed"):
            link = self.folder / "few" / name
            if shutil.which(name) and not link.exists():
                link.symlink_to(shutil.which(name))
        done = subprocess.run([ROOT / "scripts/release-roots.sh", "--out", self.folder / "made"], cwd=self.folder, stdin=subprocess.DEVNULL,
                              env={"PATH": str(self.folder / "few")}, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_roots_that_cannot_be_made_are_named(self):
        (self.folder / "made").mkdir()
        self.assertIn("has no .whl", self.roots(2).stderr)
        for name in ("a.whl", "a.deb", "a.tar.zst"):
            self.write(f"made/{name}", "")
        self.assertRegex(self.roots(0).stdout, r"^skipped: roots of other distributions: (needs root|debootstrap is not installed)\n$")

    def test_what_is_inside_is_named(self):
        for program in ("ninja", "dpkg-query"):
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed")
        build = PROGRAMS.parent
        commands = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "bin/hpcbench"], capture_output=True, text=True, timeout=PATIENCE_S)
        linked = set(re.findall(r"/(lib[^/ ]+\.a)\b", next(line for line in commands.stdout.splitlines() if " -o bin/hpcbench " in line)))
        linked = {name for name in linked if not name.startswith("libhpcbench_")}
        self.assertIn("libyaml-cpp.a", linked)
        for name in ("one", "two"):
            self.run_here(ROOT / "scripts/sbom.py", "--build", build, "--program", PROGRAMS / "hpcbench", "--out", name, env={"SOURCE_DATE_EPOCH": "1700000000"})
        self.assertEqual((self.folder / "one").read_bytes(), (self.folder / "two").read_bytes())
        said = json.loads((self.folder / "one").read_text())
        self.assertEqual((said["spdxVersion"], said["creationInfo"]["created"]), ("SPDX-2.3", "2023-11-14T22:13:20Z"))
        comments = "\n".join(package.get("comment", "") for package in said["packages"])
        for name in linked:
            self.assertRegex(comments, rf"linked statically: .*{re.escape(name)}")
        names = {package["name"]: package for package in said["packages"]}
        self.assertIn("nlohmann-json3-dev", names, "a library that is headers alone")
        self.assertNotIn("doctest-dev", names, "of the tests")
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libyaml-cpp-dev"], capture_output=True, text=True, timeout=60)
        self.assertEqual(names["libyaml-cpp-dev"]["versionInfo"], version.stdout)
        ends = {relation["relatedSpdxElement"] for relation in said["relationships"]}
        self.assertEqual(ends, {package["SPDXID"] for package in said["packages"]})

    def test_version_says_which_build_it_is(self):
        self.assertRegex(self.hpcbench("--version").stdout, r"^hpcbench \d+\.\d+\.\d+ \([^()]+\)\n$")


if __name__ == "__main__":
    unittest.main()
