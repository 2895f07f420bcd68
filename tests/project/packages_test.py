"""The demo, and the packages that scripts/release.sh makes of an installed tree: installed and called as a person does."""
import hashlib
import importlib.util
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from harness import HPCBENCH, PATIENCE_S, PROGRAMS, ROOT, StudyTest  # noqa: E402

sys.path.insert(0, str(ROOT / "scripts"))
import elf  # noqa: E402

TRAINER = PROGRAMS / "hpcbench-train"
TRY = ROOT / "scripts/try-program.sh"


class Demo(StudyTest):
    def test_a_table_and_nothing_twice(self):
        first = self.hpcbench("demo", "--program", "my demo")
        rows = [line for line in first.stdout.splitlines() if re.match(r"\| [12] \|", line)]
        self.assertEqual(len(rows), 4, first.stdout)
        for row in rows:
            self.assertIn("6 succeeded", row)
        self.assertIn("Next: cd 'my demo'", first.stderr)
        again = self.hpcbench("demo", "--program", "my demo")
        self.assertIn("nothing to do", again.stderr)
        self.assertEqual(again.stdout, first.stdout)
        self.hpcbench("check", "my demo/demo.yaml")

    def test_files_of_others_stay(self):
        self.write("demo/work.py", "mine\n")
        self.assertIn("name another folder", self.hpcbench("demo", "--program", "demo", code=2).stderr)
        self.assertEqual((self.folder / "demo/work.py").read_text(), "mine\n")

    def test_digits_where_there_is_a_trainer(self):
        if not TRAINER.exists():
            self.skipTest("there is no hpcbench-train")
        said = self.hpcbench("demo")
        rows = [line.split(" | ") for line in said.stdout.splitlines() if re.match(r"\| (baseline|ddp) ", line)]
        self.assertEqual([(row[0], row[1], row[-1]) for row in rows], [("| baseline", "1", "6 succeeded |"), ("| ddp", "2", "6 succeeded |")], said.stdout)
        self.hpcbench("check", "hpcbench-demo/demo.yaml")

    def test_a_trainer_that_cannot_train_is_named(self):
        program = self.folder / "tree/bin/hpcbench"
        program.parent.mkdir(parents=True)
        shutil.copy(HPCBENCH, program)
        self.write("demo/work.py", "mine\n")
        for trainer, says in (("echo no torch >&2; exit 1", "/hpcbench-train does not start: exit status 1: no torch: a program in Python"),
                              ("exit 0", "/hpcbench-train: a program in Python")):
            self.write("tree/bin/hpcbench-train", f"#!/bin/sh\n{trainer}\n", 0o755)
            done = subprocess.run([program, "demo", "demo"], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=PATIENCE_S)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(says, done.stderr)
            self.assertIn("demo/work.py is there already", done.stderr)


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
        self.install(tree, "Unspecified")
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

    def install(self, tree, component):
        """CMake's component Unspecified is everything without a component: hpcbench."""
        self.run_here("cmake", "--install", PROGRAMS.parent, "--prefix", tree, "--strip", "--component", component)

    def pip_install(self, *words):
        self.run_here(sys.executable, "-m", "pip", "--python", "venv/bin/python", "install", "--quiet", "--no-index", "--disable-pip-version-check", *words)

    def make_environment(self):
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
            return False
        self.run_here(sys.executable, "-m", "venv", "--without-pip", "venv")
        return True

    def test_the_trainers_wheel(self):
        if not TRAINER.exists():
            self.skipTest("there is no hpcbench-train")
        self.install("tree", "Unspecified")
        self.install("trainer", "trainer")
        torch = pathlib.Path(elf.Program((self.folder / "trainer/bin/hpcbench-train").read_bytes()).search_path.split(":")[0]).parent
        said = re.search(r"LibTorch (\d+\.\d+)\.", self.run_here(TRAINER, "--version"))[1]
        shutil.copytree(self.folder / "trainer", self.folder / "copy", copy_function=shutil.copy)  # with other dates
        for tree, out in (("trainer", "out"), ("copy", "again")):
            self.run_here(ROOT / "scripts/release.sh", "--installed", self.folder / "tree", "--trainer", self.folder / tree, "--out", self.folder / out, "--untried")
        self.assertEqual((self.folder / "out/SHA256SUMS").read_text(), (self.folder / "again/SHA256SUMS").read_text())
        [wheel] = (self.folder / "out").glob("hpcbench_trainer-*.whl")
        [runner] = (self.folder / "out").glob("hpcbench_runner-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            [information] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
            self.assertIn(f"\nRequires-Dist: torch (=={said}.*)\n", archive.read(information).decode())
            program = elf.Program(archive.read("hpcbench_trainer/hpcbench-train"))
        self.assertEqual(program.search_path, "$ORIGIN/../torch/lib")
        # Nothing newer is asked of the C library than the name promises.
        promised = int(re.search(r"-manylinux_2_(\d+)_", wheel.name)[1])
        asked = [int(name.split(".")[1]) for names in program.versions.values() for name in names if name.startswith("GLIBC_2.")]
        self.assertLessEqual(max(asked), promised)
        with zipfile.ZipFile(runner) as archive:
            names = archive.namelist()
            [information] = [name for name in names if name.endswith(".dist-info/METADATA")]
            self.assertRegex(archive.read(information).decode(), r"\nRequires-Dist: hpcbench-trainer \(==[0-9.]+\); extra == \"trainer\"\n")
        self.assertFalse([name for name in names if "hpcbench/data/" in name], "of the trainer")
        if list(torch.parent.glob("torch-*.dist-info")) and self.make_environment():
            self.try_trainer(torch)

    def try_trainer(self, torch):
        """Its torch is that of the build: first another folder's, which a .pth file names, then where pip puts it."""
        site = pathlib.Path(self.run_here("venv/bin/python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        (site / "torch.pth").write_text(f"{torch.parent}\n")
        self.pip_install("--find-links", "out", "hpcbench-runner[trainer]")
        program = self.folder / "venv/bin/hpcbench-train"
        version = self.run_here(TRAINER, "--version")
        self.assertEqual(self.run_here(program, "--version"), version)
        (site / "torch").symlink_to(torch)
        (site / "torch.pth").unlink()
        self.assertEqual(self.run_here(program, "--version"), version)
        digits = self.folder / "venv/share/hpcbench/data/mnist"
        self.assertIn("CC BY-SA 3.0", (digits / "README.md").read_text())
        self.run_here("venv/bin/hpcbench", "launch", "-n", 2, "--", program, "run", "--task", "mnist_rnn", "--strategy", "ddp", "--epochs", 1, "--data", digits)
        (site / "torch").unlink()
        done = subprocess.run([program, "--version"], env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("needs torch", done.stderr)

    def test_the_glibc_that_symbols_need(self):
        found = importlib.util.spec_from_file_location("hpcbench_wheel", ROOT / "scripts/wheel.py")
        wheel = importlib.util.module_from_spec(found)
        found.loader.exec_module(wheel)
        for names, least in (((), 17), (("GLIBC_2.2.5", "GLIBC_2.14"), 17), (("GLIBC_2.2.5", "GLIBC_2.34"), 34), (("GLIBC_2.34", "GLIBCXX_3.4.30"), 35),
                             (("GLIBC_2.34", "GLIBCXX_3.4", "GLIBCXX_3.4.9", "CXXABI_1.3.14", "GOMP_4.0"), 38)):
            self.assertEqual(wheel.least_glibc({"lib.so": list(names)}), least, names)
        with self.assertRaisesRegex(SystemExit, "GLIBCXX_3.4.99"):
            wheel.least_glibc({"lib.so": ["GLIBCXX_3.4.99"]})

    def test_a_trainer_that_does_not_start_is_not_packed(self):
        self.write("tree/bin/hpcbench-train", "#!/bin/sh\n", 0o755)
        done = subprocess.run([ROOT / "scripts/wheel.py", "--trainer", "tree", "--out", "out"], cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("--version prints no version", done.stderr)
        self.assertEqual(list((self.folder / "out").glob("*.whl")), [])

    def try_wheel(self, wheel):
        if not self.make_environment():
            return
        self.pip_install(wheel)
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
        for words, says in (([HPCBENCH, "hpcbench 0.0.0"], "--version prints"), ([self.write("silent", "#!/bin/sh\n", 0o755), version], "--version prints"),
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

    def linked_statically(self, name):
        """The system's archives on the linker's command line."""
        for program in ("ninja", "dpkg-query"):
            if shutil.which(program) is None:
                self.skipTest(f"{program} is not installed")
        commands = subprocess.run(["ninja", "-C", str(PROGRAMS.parent), "-t", "commands", f"bin/{name}"], capture_output=True, text=True, timeout=PATIENCE_S)
        found = re.findall(r"/(lib[^/ ]+\.a)\b", next(line for line in commands.stdout.splitlines() if f" -o bin/{name} " in line))
        return {library for library in found if not library.startswith("libhpcbench_")}

    def check_what_is_inside(self, said, linked):
        """{name: package} of an SPDX document that names these libraries."""
        self.assertEqual((said["spdxVersion"], said["creationInfo"]["created"]), ("SPDX-2.3", "2023-11-14T22:13:20Z"))
        comments = "\n".join(package.get("comment", "") for package in said["packages"])
        for name in linked:
            self.assertRegex(comments, rf"linked statically: .*{re.escape(name)}")
        names = {package["name"]: package for package in said["packages"]}
        self.assertIn("nlohmann-json3-dev", names, "a library that is headers alone")
        self.assertNotIn("doctest-dev", names, "of the tests")
        ends = {relation["relatedSpdxElement"] for relation in said["relationships"]}
        self.assertEqual(ends, {package["SPDXID"] for package in said["packages"]})
        return names

    def test_what_is_inside_is_named(self):
        linked = self.linked_statically("hpcbench")
        self.assertIn("libyaml-cpp.a", linked)
        for name in ("one", "two"):
            self.run_here(ROOT / "scripts/sbom.py", "--build", PROGRAMS.parent, "--program", PROGRAMS / "hpcbench", "--out", name,
                          env={"SOURCE_DATE_EPOCH": "1700000000"})
        self.assertEqual((self.folder / "one").read_bytes(), (self.folder / "two").read_bytes())
        names = self.check_what_is_inside(json.loads((self.folder / "one").read_text()), linked)
        self.assertNotIn("torch", names)
        version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libyaml-cpp-dev"], capture_output=True, text=True, timeout=60)
        self.assertEqual(names["libyaml-cpp-dev"]["versionInfo"], version.stdout)

    def test_each_wheel_holds_what_is_inside(self):
        linked = {"hpcbench": self.linked_statically("hpcbench")}
        trees = ["--installed", "tree", "--installed-from", PROGRAMS.parent]
        self.install("tree", "Unspecified")
        if TRAINER.exists():
            linked["hpcbench-train"] = self.linked_statically("hpcbench-train")
            self.assertIn("libxxhash.a", linked["hpcbench-train"])
            self.install("trainer", "trainer")
            trees += ["--trainer", "trainer", "--trainer-from", PROGRAMS.parent]
        self.run_here(ROOT / "scripts/wheel.py", *trees, "--out", "out", env={"SOURCE_DATE_EPOCH": "1700000000"})
        found = {}
        for wheel in (self.folder / "out").glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                [name] = [name for name in archive.namelist() if ".dist-info/sboms/" in name]
                text = archive.read(name)
                self.assertEqual((self.folder / "out" / pathlib.Path(name).name).read_bytes(), text)
                program = pathlib.Path(name).name.removesuffix(".spdx.json")
                [path] = [name for name in archive.namelist() if re.search(rf"/scripts/{program}$|^hpcbench_trainer/{program}$", name)]
                digest = hashlib.sha256(archive.read(path)).hexdigest()
            found[program] = self.check_what_is_inside(json.loads(text), linked[program])
            self.assertEqual(found[program][program]["checksums"], [{"algorithm": "SHA256", "checksumValue": digest}])
        self.assertEqual(set(found), set(linked))
        if TRAINER.exists():
            inside = found["hpcbench-train"]
            said = re.search(r"LibTorch (\d+\.\d+\.\d+)", self.run_here(TRAINER, "--version"))[1]
            self.assertEqual(inside["torch"]["versionInfo"].partition("+")[0], said)
            self.assertIn("BSD-3-Clause", inside["torch"]["licenseDeclared"])
            self.assertEqual(inside["mnist"]["licenseDeclared"], "CC-BY-SA-3.0")
            self.assertNotIn("libyaml-cpp-dev", inside, "of the runner")

    def test_version_says_which_build_it_is(self):
        self.assertRegex(self.hpcbench("--version").stdout, r"^hpcbench \d+\.\d+\.\d+ \([^()]+\)\n$")


if __name__ == "__main__":
    unittest.main()
