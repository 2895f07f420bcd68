"""Runs in containers, with small stand-ins for apptainer and podman that start the program on this machine."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import unittest

from harness import HPCBENCH, ROOT, StudyTest

# As apptainer does, it lets the image's variables win over all but those named APPTAINERENV_, and with --cleanenv passes on no others.
APPTAINER = """#!/bin/bash
printf '%s\\n' "$*" >>"$CALLS"
clean=()
while [[ $1 != *.sif ]]; do
  [[ $1 == --cleanenv ]] && clean=(-i PATH="$PATH")
  shift
done
shift
given=(IN_IMAGE=yes LEVEL=low)
for name in $(compgen -e APPTAINERENV_); do given+=("${name#APPTAINERENV_}=${!name}"); done
exec env "${clean[@]}" "${given[@]}" "$@"
"""

# As apptainer does without a terminal, it passes signals on, and a program of its own shows the image as files.
PASSING_ON = """#!/bin/bash
while [[ $1 != *.sif ]]; do shift; done
shift
exec -a "Apptainer runtime parent: torch.sif" "$BIN/starter" -c '
"$BIN/squashfuse" 300 &
export IMAGE=$!
"$@" &
program=$!
trap "sleep 0.3; kill -TERM $program" TERM
while kill -0 $program 2>/dev/null; do wait $program; ended=$?; done
kill -KILL $IMAGE
exit $ended' starter "$@"
"""

# Says how often it hears SIGTERM within a second, and whether it can still read its image then.
COUNTING = "heard=0; trap 'heard=$((heard + 1))' TERM; until ((heard)); do sleep 0.02; done; for i in {1..50}; do sleep 0.02; done; " \
           "kill -0 $IMAGE && echo $heard, with its image"

# As podman does, it gives the program the variables that are named, and no others.
PODMAN = """#!/bin/bash
printf '%s\\n' "$*" >>"$CALLS"
given=(PATH="$PATH" IN_IMAGE=yes)
while [[ $1 != *image ]]; do
  if [[ $1 == --env=*'*' ]]; then
    prefix=${1#--env=}
    for name in $(compgen -e); do [[ $name == ${prefix%\\*}* ]] && given+=("$name=${!name}"); done
  elif [[ $1 == --env=* ]]; then
    name=${1#--env=}
    [[ -v $name ]] && given+=("$name=${!name}")
  elif [[ $1 == --workdir ]]; then
    cd "$2"
  fi
  shift
done
shift
exec env -i "${given[@]}" "$@"
"""

STUDY = """experiment: boxed
command: [bash, -c, 'echo "$RANK of $WORLD_SIZE in ${IN_IMAGE-host}: $LEVEL $OMP_NUM_THREADS ${HIDDEN-none} $PWD"; exit $((RANK == FAILS ? 7 : 0))']
matrix: {gpus_per_node: [2]}
repeats: 1
retries: {lost: 0}
resources: {time: 60s}
environment: {LEVEL: high, FAILS: FAILING}
container: CONTAINER
"""


class Containers(StudyTest):
    def setUp(self):
        super().setUp()
        self.write("bin/apptainer", APPTAINER, 0o755)
        self.write("bin/podman", PODMAN, 0o755)
        for image in ("torch.sif", "torch-2.sif"):
            self.write(image, "")
        self.calls = self.folder / "calls"

    def environment(self, extra=None):
        environment = super().environment(extra)
        return environment | {"PATH": f"{self.folder}/bin:{environment['PATH']}", "CALLS": str(self.calls), "HIDDEN": "no"}

    def study(self, container, failing=9, more=""):
        self.write("boxed.yaml", STUDY.replace("CONTAINER", container).replace("FAILING", str(failing)) + more)

    def attempt(self):
        return next(self.folder.rglob("r01/a1"))

    def test_apptainer_starts_each_rank_with_its_folders(self):
        self.study("{image: 'torch-{{gpus}}.sif', args: [--cleanenv], mounts: ['/scratch:/data:ro']}")
        self.hpcbench("run", "boxed.yaml")
        attempt = self.attempt()
        for rank, name in ((0, "stdout.log"), (1, "stdout.1.log")):
            self.assertEqual((attempt / name).read_text(), f"{rank} of 2 in yes: high 1 none {self.folder}\n")
        call = f"exec --bind {self.folder}:{self.folder} --bind {attempt}:{attempt} --pwd {self.folder} --cleanenv --bind /scratch:/data:ro torch-2.sif bash"
        for line in self.calls.read_text().splitlines():
            self.assertTrue(line.replace("--nv ", "").startswith(call), line)
        finished = json.loads((attempt / "finished.json").read_text())
        self.assertEqual([process["rank"] for process in finished["processes"]], [0, 1])
        self.assertFalse((attempt / "try1").exists())
        run = json.loads((attempt / "run.json").read_text())
        self.assertEqual((run["container"], run["container_args"]), ("torch-2.sif", ["--cleanenv"]))

    def test_apptainer_passes_all_variables_on(self):
        self.study("torch.sif")
        self.write("boxed.yaml", (self.folder / "boxed.yaml").read_text().replace("LEVEL: high", "LEVEL: 'a \"b\" c'"))
        self.hpcbench("run", "boxed.yaml")
        self.assertEqual((self.attempt() / "stdout.1.log").read_text(), f'1 of 2 in yes: a "b" c 1 no {self.folder}\n')

    def test_a_program_in_apptainer_hears_a_signal_once_and_keeps_its_image(self):
        self.write("bin/apptainer", PASSING_ON, 0o755)
        for name, program in (("starter", "bash"), ("squashfuse", "sleep")):
            shutil.copy2(os.path.realpath(shutil.which(program)), self.folder / "bin" / name)
        self.study("torch.sif")
        text = (self.folder / "boxed.yaml").read_text().replace("time: 60s", "time: 1s")
        command = json.dumps(["bash", "-c", COUNTING])
        self.write("boxed.yaml", re.sub("^command: .*", lambda _: f"command: {command}", text, flags=re.M))
        self.hpcbench("run", "boxed.yaml", code=1, env={"BIN": f"{self.folder}/bin"})
        for name in ("stdout.log", "stdout.1.log"):
            self.assertEqual((self.attempt() / name).read_text(), "1, with its image\n")

    def test_podman_gives_a_rank_what_it_needs(self):
        self.study("{image: example.org/image, runtime: podman}")
        self.hpcbench("run", "boxed.yaml")
        self.assertEqual((self.attempt() / "stdout.1.log").read_text(), f"1 of 2 in yes: high 1 none {self.folder}\n")
        self.assertIn("run --rm --network=host", self.calls.read_text())
        self.assertEqual(json.loads((self.attempt() / "run.json").read_text())["container_runtime"], "podman")
        # A container of podman is no child of the process that waits: what that used says nothing of the program.
        finished = json.loads((self.attempt() / "finished.json").read_text())
        self.assertEqual([process["user_s"] for process in finished["processes"]], [None, None])
        self.hpcbench("report", "boxed.yaml")

    def test_a_rank_that_fails_says_how_the_run_ended(self):
        self.study("torch.sif", failing=1)
        self.assertIn("rank 1 failed with exit code 7", self.hpcbench("run", "boxed.yaml", code=1).stderr)

    def test_the_time_limit_ends_it(self):
        self.study("torch.sif", more="setup: ['trap : USR1']\n")
        text = (self.folder / "boxed.yaml").read_text().replace("exit $((", "sleep 300; exit $((").replace("time: 60s", "time: 1s")
        self.write("boxed.yaml", text)
        self.assertIn("time limit of 1", self.hpcbench("run", "boxed.yaml", code=1).stderr)
        finished = json.loads((self.attempt() / "finished.json").read_text())
        self.assertEqual([process["signal"] for process in finished["processes"]], [15, 15])

    def test_by_hand_it_writes_to_a_folder_of_its_own(self):
        self.study("torch.sif")
        self.hpcbench("run", "boxed.yaml")
        before = sorted(path.name for path in self.attempt().iterdir())
        for command in (["bash", self.attempt() / "job.sh"], [HPCBENCH, "launch", self.attempt()]):
            place = self.folder / "by_hand"
            place.mkdir()
            subprocess.run(command, cwd=place, env=self.environment(), check=True, capture_output=True)
            manual = next(place.iterdir())
            self.assertEqual((manual / "stdout.1.log").read_text(), f"1 of 2 in yes: high 1 no {self.folder}\n")
            self.assertIn(f"--bind {manual}:{manual}", self.calls.read_text())
            shutil.rmtree(place)
        self.assertEqual(sorted(path.name for path in self.attempt().iterdir()), before)

    def test_a_runtime_or_an_image_that_is_not_there_is_refused_before_the_first_run(self):
        self.study("away.sif")
        said = self.hpcbench("run", "boxed.yaml", code=3).stderr
        self.assertIn(f"the image away.sif of `container` is not there (seen from {self.folder})", said)
        for image in ("docker://example.org/torch", "docker-archive:torch.tar"):
            self.study(image)
            self.assertNotIn("is not there", self.hpcbench("doctor", "boxed.yaml", code=None).stdout)
        (self.folder / "bin/podman").unlink()
        self.study("{image: 'example.org/torch:2', runtime: podman}")
        nowhere = {"PATH": f"{self.folder}/bin:/nowhere"}
        said = self.hpcbench("run", "boxed.yaml", code=3, env=self.environment() | nowhere).stderr
        self.assertIn("`podman`, which is to run the container, is not on PATH", said)
        self.assertNotIn("example.org", said, "a name in a registry is no file")
        self.assertEqual(list(self.folder.rglob("a1")), [])

    def test_a_folder_that_cannot_be_named_in_a_mount_is_refused(self):
        self.study("torch.sif")
        said = self.hpcbench("run", "boxed.yaml", "--results", "a,b", code=2).stderr
        self.assertIn("cannot be mounted", said)

    def test_pyxis_puts_hpcbench_and_the_folders_into_the_container(self):
        self.study("{image: 'nvcr.io#nvidia/pytorch:{{gpus}}', runtime: pyxis, args: [--container-remap-root], mounts: [/data]}")
        self.hpcbench("plan", "boxed.yaml", "--site", str(ROOT / "sites/test.yaml"), "--scripts", "scripts")
        path = next(path for path in (self.folder / "scripts").rglob("job.sh") if "batches" not in path.parts)
        script = path.read_text()
        for expected in ("--container-image='nvcr.io#nvidia/pytorch:2' ",
                         f'--container-mounts="${{HPCBENCH_RUN%/*}}:${{HPCBENCH_RUN%/*}},$PWD:$PWD",{shlex.quote(f"{HPCBENCH}:{HPCBENCH}:ro")},/data:/data ',
                         '--container-workdir="$PWD" ', "OMP_NUM_THREADS", "LEVEL", "--container-remap-root "):
            self.assertIn(expected, script)
        self.assertNotIn("apptainer", script)
        if shutil.which("shellcheck"):
            done = subprocess.run(["shellcheck", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_scripts_with_containers_are_short_and_clean(self):
        if not shutil.which("shellcheck"):
            self.skipTest("shellcheck is not installed")
        for container in ("torch.sif", "{image: image, runtime: podman, mounts: [/data]}"):
            self.study(container)
            shutil.rmtree(self.folder / "scripts", ignore_errors=True)
            self.hpcbench("plan", "boxed.yaml", "--scripts", "scripts")
            path = next((self.folder / "scripts").rglob("job.sh"))
            self.assertLessEqual(path.read_text().count("\n"), 40)
            done = subprocess.run(["shellcheck", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
