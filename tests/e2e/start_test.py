"""What a run is started with: variables, options of srun, and a job script that a person can read."""
import json
import pathlib
import shutil
import subprocess
import unittest

from harness import HPCBENCH, ROOT, StudyTest

MOST_LINES = 40

SHOWS = """experiment: shows
command: [bash, -c, 'printf "%s|" "$PLAIN" "$WORDS" "$SIZE" "$WHERE" "$OMP_NUM_THREADS" "$EMPTY" "${UNSET-none}"']
matrix: {size: [4]}
repeats: 1
SETUPenvironment: {PLAIN: INFO, WORDS: 'it''s "two" words; $', SIZE: "n={{size}}", WHERE: "{{run_dir}}/x", OMP_NUM_THREADS: 3, EMPTY: ""}
"""

STUDY = """experiment: study
command: [train, "--size={{size}}"]
matrix: {size: [4], bind: [cores, none], nodes: [1, 2]}
repeats: 1
"""


class Start(StudyTest):
    def attempt(self):
        return next(self.folder.rglob("r01/a1"))

    def scripts(self, file, *options):
        """Text of each job.sh that a run would make, by its path."""
        self.hpcbench("plan", file, "--scripts", "scripts", *options)
        return {path: path.read_text() for path in (self.folder / "scripts").rglob("job.sh")}

    def attempt_scripts(self, file, *options):
        return [text for path, text in self.scripts(file, *options).items() if "batches" not in path.parts]

    def test_scripts_are_those_of_the_run_to_the_byte_whatever_they_name(self):
        self.write("deck.in", "{{size}} {{build.dir}}")
        self.write("s.yaml", """
experiment: s
command: ["true", "{{run_dir}}/{{size}}", "{{build.dir}}", "{{resume_from}}"]
matrix: {size: [a b], ranks_per_node: [2]}
environment: {OUT: "{{run_dir}}/x", BUILT: "{{build.dir}}"}
setup: ["echo {{run_dir}} {{build.dir}} {{size}}"]
workdir: attempt
files: [{from: deck.in, to: in/deck}]
prepare: {build: {command: [touch, "{{build.dir}}/x"]}}
resources: {time: 60s}
continue: {on: [timeout]}
repeats: 1
""")
        self.hpcbench("plan", "s.yaml", "--scripts", "before")
        self.hpcbench("run", "s.yaml")
        self.hpcbench("plan", "s.yaml", "--scripts", "after")
        run = next((self.folder / "results").rglob("r01/a1"))
        for planned in ("before", "after"):
            attempt = next((self.folder / planned).rglob("r01/a1"))
            for name in ("job.sh", "out/in/deck"):
                self.assertEqual((attempt / name).read_text(), (run / name).read_text(), (planned, name))

    def test_what_cannot_stand_in_a_batch_script_is_refused_where_it_stands(self):
        self.write("site.yaml", "executor: slurm\naccount: a$b\nextra: ['--comment=ok']\n")
        self.write("plain.yaml", "executor: slurm\n")
        study = "experiment: s\ncommand: [echo, '{{k}}']\nmatrix: {k: [1]}\n"
        for text, site, place in (("", "site", "site.yaml:2:10: error: account \"a$b\""),
                                  ("resources:\n  gres: \"gpu:'1\"\n", "plain", "s.yaml:5:9: error: resources.gres \"gpu:'1\""),
                                  ("partition: a`b\n", "plain", "s.yaml:4:12: error: partition \"a`b\""),
                                  ("resources:\n  extra: [\"--comment=a\\nb\"]\n", "plain", "s.yaml:5:10: error: resources.extra \"a\\nb\"")):
            self.write("s.yaml", study + text)
            refused = self.hpcbench("check", "s.yaml", "--site", f"./{site}.yaml", code=2)
            self.assertIn(place + " cannot stand in a line of a batch script", refused.stdout + refused.stderr)

    def test_no_job_would_find_a_program_that_a_shell_must_expand(self):
        self.write("s.yaml", "experiment: s\ncommand: [echo, '{{k}}']\nmatrix: {k: [1]}\n")
        for path in ("~/bin/hpcbench", "$HOME/hpcbench", "bin/hpcbench", "./hpcbench", "~hpcbench"):
            self.write("site.yaml", f"executor: slurm\nhpcbench: {path}\n")
            refused = self.hpcbench("check", "s.yaml", "--site", "./site.yaml", code=2)
            self.assertIn(f"site.yaml:2:11: error: `hpcbench` is `{path}`: no job would find it", refused.stdout + refused.stderr)
        for path in ("hpcbench", "/apps/bin/hpcbench"):
            self.write("site.yaml", f"executor: slurm\nhpcbench: {path}\n")
            self.hpcbench("check", "s.yaml", "--site", "./site.yaml")

    def test_variables_reach_the_program_as_they_were_written(self):
        for setup in ("", "setup: ['OMP_NUM_THREADS=$((OMP_NUM_THREADS + 4)); UNSET=$PLAIN; export UNSET']\n"):
            with self.subTest(setup=setup):
                self.write("shows.yaml", SHOWS.replace("SETUP", setup))
                self.hpcbench("run", "shows.yaml")
                attempt = self.attempt()
                changed = ("7", "INFO") if setup else ("3", "none")
                expected = f"""INFO|it's "two" words; $|n=4|{attempt}/out/x|{changed[0]}||{changed[1]}|"""
                self.assertEqual((attempt / "stdout.log").read_text(), expected)
                self.assertEqual(json.loads((attempt / "run.json").read_text())["environment"]["SIZE"], "n=4")
                by_hand = self.folder / "by hand"
                by_hand.mkdir()
                subprocess.run(["bash", attempt / "job.sh"], cwd=by_hand, env=self.environment(), check=True, capture_output=True)
                manual = next(by_hand.iterdir())
                self.assertEqual((manual / "stdout.log").read_text(), expected.replace(str(attempt), str(manual)))
                shutil.rmtree(self.folder / "results")
                shutil.rmtree(by_hand)

    def test_a_site_says_some_and_the_file_and_its_profile_the_others(self):
        self.write("site.yaml", "executor: slurm\nenvironment: {A: site, B: site}\nsrun: [--mpi=pmix]\n")
        self.write("study.yaml", STUDY + "environment: {B: file, C: file}\nsrun: ['--cpu-bind={{bind}}']\n"
                                         "profiles: {debug: {environment: {C: profile, D: 'x y'}}}\n")
        scripts = self.attempt_scripts("study.yaml", "--site", "./site.yaml", "--profile", "debug")
        self.assertEqual(len(scripts), 4)
        for script in scripts:
            self.assertIn(" A=site B=file C=profile D='x y'\n", script)
            self.assertRegex(script, r"--cpus-per-task=1 --mpi=pmix --cpu-bind=(cores|none) '?/")

    def test_a_template_of_ones_own_works_here_too(self):
        template = (ROOT / "templates/job.sh.mustache").read_text().replace("\ncd -- ", "\nexport MINE=yes\ncd -- ")
        self.write("mine.mustache", template)
        self.write("site.yaml", "executor: local\ntemplate: ./mine.mustache\n")
        self.write("study.yaml", "experiment: study\ncommand: [bash, -c, 'echo $MINE $RANK']\nmatrix: {gpus_per_node: [2]}\nrepeats: 1\n")
        self.hpcbench("run", "study.yaml", "--site", "./site.yaml")
        self.assertEqual((self.attempt() / "stdout.1.log").read_text(), "yes 1\n")

    def test_srun_options_are_recorded_here_and_nothing_reads_them(self):
        self.write("study.yaml", STUDY.replace("[train", "[echo").replace("[1, 2]", "[1]") + "srun: ['--cpu-bind={{bind}}']\n")
        said = self.hpcbench("check", "study.yaml")
        self.assertIn("study.yaml:5:1: `srun` is for jobs of Slurm: on this machine nothing reads it", said.stdout + said.stderr)
        self.hpcbench("run", "study.yaml")
        binds = [json.loads(path.read_text())["srun"] for path in self.folder.rglob("run.json")]
        self.assertEqual(sorted(binds), [["--cpu-bind=cores"], ["--cpu-bind=none"]])

    def test_they_are_part_of_the_identity_where_they_are_given(self):
        plan = lambda: set(self.scripts_folders())
        self.write("study.yaml", STUDY)
        plain = plan()
        for more in ("environment: {A: x}\n", "environment: {A: y}\n", "srun: [--mpi=pmix]\n", "environment: {A: x, B: x}\n"):
            self.write("study.yaml", STUDY + more)
            self.assertFalse(plain & plan(), more)
        self.write("study.yaml", STUDY + "environment: {B: x, A: x}\n")
        ordered = plan()
        self.write("study.yaml", STUDY + "environment: {A: x, B: x}\n")
        self.assertEqual(plan(), ordered)

    def scripts_folders(self):
        shutil.rmtree(self.folder / "scripts", ignore_errors=True)
        return [path.parents[2].name for path in self.scripts("study.yaml", "--site", str(ROOT / "sites/test.yaml"))
                if "batches" not in path.parts]

    def test_job_scripts_of_the_repository_are_short_and_clean(self):
        # Without the trainer a study of it cannot be planned: any program of its name does, as nothing is run.
        programs = self.folder / "programs"
        programs.mkdir()
        shutil.copy(HPCBENCH, programs)
        self.write("programs/hpcbench-train", "#!/bin/sh\n", 0o755)
        shutil.copytree(ROOT / "templates", self.folder / "templates")
        shutil.copy(ROOT / "examples/coming-from/jube/file.in", self.folder)  # an input deck, seen from the folder of the call
        files = [path for folder in ("experiments", "examples") for path in (ROOT / folder).rglob("*.yaml")
                 if "\nexperiment:" in "\n" + path.read_text()]
        self.assertGreater(len(files), 3)
        checked = 0
        for file in files:
            for profile in ((), *[("--profile", name) for name in self.profiles(file)]):
                with self.subTest(file=str(file.relative_to(ROOT)), profile=profile):
                    shutil.rmtree(self.folder / "scripts", ignore_errors=True)
                    arguments = ["plan", file, "--scripts", "scripts", "--site", ROOT / "sites/gpu-a100.yaml", *profile]
                    subprocess.run([programs / "hpcbench", *arguments], cwd=self.folder, env=self.environment(), check=True, capture_output=True)
                    scripts = {path: path.read_text() for path in (self.folder / "scripts").rglob("job.sh")}
                    for path, text in scripts.items():
                        self.assertLessEqual(text.count("\n"), MOST_LINES, path)
                    checked += len(scripts)
                    if shutil.which("shellcheck"):
                        # One of each kind: scripts of a file differ in their words alone.
                        chosen = {"batches" in path.parts: path for path in scripts}.values()
                        done = subprocess.run(["shellcheck", *chosen], capture_output=True, text=True)
                        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertGreater(checked, 10)

    @staticmethod
    def profiles(file: pathlib.Path):
        """Names below `profiles:`, by their indentation."""
        names, inside = [], False
        for line in file.read_text().splitlines():
            if line.startswith("profiles:"):
                inside = True
            elif line and not line.startswith((" ", "#")):
                inside = False
            elif inside and line.startswith("  ") and line[2] not in " #":
                names.append(line.strip().split(":")[0])
        return names

    def test_a_script_that_uses_all_of_it_is_clean(self):
        if not shutil.which("shellcheck"):
            self.skipTest("shellcheck is not installed")
        self.write("study.yaml", STUDY + "modules: [cuda]\nsetup: ['module load x']\nenvironment: {A: 'x y'}\nsrun: [--mpi=pmix]\n"
                                         "monitor: 5s\nworkdir: attempt\n")
        for script in self.attempt_scripts("study.yaml", "--site", str(ROOT / "sites/test.yaml")):
            self.assertLessEqual(script.count("\n"), MOST_LINES)
            done = subprocess.run(["shellcheck", "-"], input=script, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + script)


if __name__ == "__main__":
    unittest.main()
