"""Runs in containers of the real podman, of an image that is made here from this machine's bash."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from boxed_study import BoxedStudyTest, copy_program

IMAGE = "localhost/hpcbench-test:1"
PROGRAMS = ("bash", "sleep", "touch")

STUDY = """experiment: boxed
command: [bash, -c, 'COMMAND']
matrix: {gpus_per_node: [2]}
repeats: 1
retries: {lost: 1}
resources: {time: LIMIT}
environment: {LEVEL: high}
container: {image: "localhost/hpcbench-test:1", runtime: podman}
"""


class Podman(BoxedStudyTest):
    def setUp(self):
        super().setUp()
        if shutil.which("podman") is None:
            self.skipTest("podman is not installed (apt install podman runc)")
        # podman keeps sockets there, whose paths may have 50 characters: with a longer one it never hears of a container's end.
        sockets = tempfile.mkdtemp(prefix="hpcbench-", dir="/tmp")
        self.addCleanup(shutil.rmtree, sockets, ignore_errors=True)
        self.write("storage.conf", f'[storage]\ndriver = "vfs"\ngraphroot = "{self.folder}/storage"\nrunroot = "{sockets}"\n')
        for name in PROGRAMS:
            copy_program(name, self.folder / "image")
        subprocess.run(["tar", "-C", self.folder / "image", "-cf", self.folder / "image.tar", "."], check=True)
        # Limits below those of this user: some machines let nobody raise them.
        limits = '[containers]\ndefault_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]\n'
        for runtime in ("", '[engine]\nruntime = "runc"\n'):  # crun, the default, wants cgroups of one version
            self.write("containers.conf", limits + runtime)
            self.podman("import", "image.tar", IMAGE)
            started = self.podman("run", "--rm", "--network=host", "--ipc=host", "--pid=host", IMAGE, "bash", "-c", ":", check=False)
            if started.returncode == 0:
                return
        self.skipTest(f"podman starts no container here: {started.stderr.strip()}")

    def environment(self, extra=None):
        files = {"CONTAINERS_CONF": f"{self.folder}/containers.conf", "CONTAINERS_STORAGE_CONF": f"{self.folder}/storage.conf"}
        return super().environment(extra) | files

    def podman(self, *arguments, check=True):
        return subprocess.run(["podman", *arguments], cwd=self.folder, env=self.environment(), check=check, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)

    def containers(self):
        return self.podman("ps", "--all", "--format", "{{.Command}} {{.Status}}").stdout

    def study(self, command, limit="60s"):
        self.write("boxed.yaml", STUDY.replace("COMMAND", command).replace("LIMIT", limit))

    def test_each_rank_runs_in_a_container_of_its_own(self):
        self.study('echo "$RANK of $WORLD_SIZE: $LEVEL ${HOME_OF_OTHERS-none} $PWD"; touch written.$RANK')
        self.hpcbench("run", "boxed.yaml", env={"HOME_OF_OTHERS": "no"})
        for rank, name in ((0, "stdout.log"), (1, "stdout.1.log")):
            self.assertEqual((self.attempt() / name).read_text(), f"{rank} of 2: high none {self.folder}\n")
            self.assertEqual((self.folder / f"written.{rank}").stat().st_uid, os.getuid())
        self.assertEqual(self.containers(), "")

    def test_the_time_limit_ends_the_programs_and_leaves_no_container(self):
        self.study('echo begun; exec sleep 300', limit="2s")
        self.hpcbench("run", "boxed.yaml", code=1)
        finished = json.loads((self.attempt() / "finished.json").read_text())
        self.assertTrue(finished["timed_out"])
        self.wait_for(lambda: self.containers() == "", "podman removes the containers")

    def test_what_hears_no_sigterm_is_killed_and_leaves_no_container(self):
        self.study('trap "" TERM; echo begun; while :; do sleep 1; done', limit="2s")
        self.hpcbench("run", "boxed.yaml", code=1)
        self.wait_for(lambda: self.containers() == "", "podman removes the containers")

    def test_after_the_death_of_the_launcher_it_is_tried_again_alone(self):
        self.study('if [[ $HPCBENCH_RUN == */a1/* ]]; then echo begun; exec sleep 300; fi')
        self.check_lost_launcher()  # who adopts conmon decides when podman's records go


if __name__ == "__main__":
    unittest.main()
