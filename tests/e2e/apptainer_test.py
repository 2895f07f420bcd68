"""Runs in containers of the real apptainer, of an image that is made here from this machine's bash."""
import json
import os
import shutil
import subprocess
import unittest

from boxed_study import BoxedStudyTest, copy_program

PROGRAMS = ("bash", "sh", "sleep", "touch")
STUDY = """experiment: boxed
command: [bash, -c, COMMAND]
matrix: {gpus_per_node: [2]}
repeats: 1
retries: {lost: 1}
resources: {time: LIMIT}
environment: {LEVEL: high}
container: {image: image, args: ARGUMENTS}
"""
# Says how often it hears SIGTERM within a second.
COUNTING = "heard=0; trap 'heard=$((heard + 1))' TERM; until ((heard)); do sleep 0.02; done; for i in {1..50}; do sleep 0.02; done; echo $heard"


class Apptainer(BoxedStudyTest):
    def setUp(self):
        super().setUp()
        if shutil.which("apptainer") is None:
            self.skipTest("apptainer is not installed (https://apptainer.org; Debian has none)")
        self.folder /= "a folder"
        for name in PROGRAMS:
            copy_program(name, self.folder / "image")
        self.write("image/.singularity.d/env/90-environment.sh", "export LEVEL=low OTHER=image\n", 0o755)
        self.write("image/.singularity.d/env/99-base.sh", "", 0o755)  # as images have it: APPTAINERENV_ comes behind it
        for name in ("dev", "etc", "proc", "root", "sys", "tmp", "var/tmp"):
            (self.folder / "image" / name).mkdir(parents=True)
        started = subprocess.run(["apptainer", "exec", "image", "bash", "-c", ":"], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if started.returncode != 0:
            self.skipTest(f"apptainer starts no container here: {started.stderr.strip()}")

    def study(self, command, limit="60s", arguments=()):
        text = STUDY.replace("COMMAND", json.dumps(command)).replace("LIMIT", limit).replace("ARGUMENTS", json.dumps(arguments))
        self.write("boxed.yaml", text)

    def finished(self):
        return json.loads((self.attempt() / "finished.json").read_text())

    def outputs(self):
        return [(self.attempt() / name).read_text() for name in ("stdout.log", "stdout.1.log")]

    def test_each_rank_has_its_variables_and_folders(self):
        command = 'echo "$RANK of $WORLD_SIZE: $LEVEL $OTHER ${HIDDEN-none} $OMP_NUM_THREADS $PWD"; touch "${HPCBENCH_RUN%/*}/written.$RANK"'
        for arguments, hidden in (((), "no"), (("--cleanenv",), "none"), (("--pid",), "no"), (("--containall",), "none")):
            self.study(command, arguments=arguments)
            self.hpcbench("run", "boxed.yaml", env={"HIDDEN": "no"})
            self.assertEqual(self.outputs(), [f"{rank} of 2: high image {hidden} 1 {self.folder}\n" for rank in (0, 1)], arguments)
            self.assertEqual([(self.attempt() / f"written.{rank}").stat().st_uid for rank in (0, 1)], [os.getuid()] * 2)
            shutil.rmtree(self.folder / "results")

    def test_exit_codes_and_signals_are_the_programs_own(self):
        for command, code, number in (("exit $((RANK * 7))", 7, None), ("((RANK)) && kill -SEGV $$; exec sleep 300", None, 11), ("((RANK)) && kill -KILL $$; exec sleep 300", None, 9)):
            self.study(command)
            self.hpcbench("run", "boxed.yaml", code=1)
            failed = self.finished()["processes"][1]
            self.assertEqual((failed["exit_code"], failed["signal"]), (code, number), command)
            shutil.rmtree(self.folder / "results")

    def test_the_time_limit_is_heard_once(self):
        for arguments in ((), ("--pid",)):
            self.study(COUNTING, limit="2s", arguments=arguments)
            self.hpcbench("run", "boxed.yaml", code=1)
            self.assertTrue(self.finished()["timed_out"])
            self.assertEqual(self.outputs(), ["1\n", "1\n"], arguments)
            shutil.rmtree(self.folder / "results")

    def test_the_warning_of_a_continued_run_is_heard(self):
        self.study("[[ $HPCBENCH_SEGMENT == 2 ]] && exit 0; trap 'exit 85' USR1; while :; do sleep 0.02; done", limit="5s")
        self.write("boxed.yaml", (self.folder / "boxed.yaml").read_text() + "continue: {on: [timeout], max: 2, warn: 2s}\n")
        self.hpcbench("run", "boxed.yaml")

    def test_after_the_death_of_the_launcher_it_is_tried_again_alone(self):
        self.study('if [[ $HPCBENCH_RUN == */a1/* ]]; then echo begun; exec sleep 300; fi', arguments=("--cleanenv",))
        self.check_lost_launcher()


if __name__ == "__main__":
    unittest.main()
