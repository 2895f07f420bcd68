"""Software as a factor: examples/software, and what modules, variables, containers and partitions of points become."""
import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import ROOT, StudyTest  # noqa: E402

EXAMPLES = ROOT / "examples/software"
# What a login shell would define; `module load` says what is loaded.
MODULE = "module() { echo \"module $*\"; }\nexport -f module\n"
STUDY = """
experiment: software
command: [sh, -c, 'echo "took=$LEVEL from $FROM"']
launch: once
setup: ["echo setup {{cuda}}"]
modules: ["CUDA/{{cuda}}", "{{*more}}"]
environment: {LEVEL: "4", FROM: "{{cuda}}"}
zip:
  - cuda: ["12.1", "13.0"]
    more: [[], [NCCL/2.20, two words]]
matrix: {gpus_per_node: [1, 2]}
repeats: 1
resources: {time: "{{minutes}}m", mem: "{{minutes}}G"}
parameters: {minutes: 5}
overrides:
  - {when: {cuda: "13.0"}, environment: {LEVEL: "2"}, parameters: {minutes: 6}}
metrics: [{name: took_s, file: stdout.log, pattern: 'took=([0-9]+)', unit: s}]
baseline: {cuda: "12.1", more: []}
report: {metric: took_s}
"""


class Software(StudyTest):
    def scripts(self, file):
        self.write("site.yaml", "executor: slurm\npartition: small\ngres_type: none\n")
        self.hpcbench("plan", str(file), "--site", "./site.yaml", "--scripts", "scripts")
        return [path.read_text() for path in sorted((self.folder / "scripts").rglob("*.sh"))]

    def test_every_example_passes_check(self):
        files = sorted(EXAMPLES.glob("*.yaml"))
        self.assertEqual(len(files), 2)
        for file in files:
            self.assertIn("ok: ", self.hpcbench("check", str(file)).stdout, file.name)

    def test_each_point_has_its_partition_and_modules(self):
        texts = self.scripts(EXAMPLES / "toolchains.yaml")
        asked = {line.split("=")[1] for text in texts for line in text.splitlines() if line.startswith("#SBATCH --partition=")}
        self.assertEqual(asked, {"milan", "genoa"})
        cores = {line for text in texts if "--partition=genoa" in text for line in text.splitlines() if "cpus-per-task" in line}
        self.assertEqual(cores, {"#SBATCH --cpus-per-task=96"})
        jobs = [text for text in texts if "make CC=clang" in text]
        self.assertTrue(jobs)
        for text in jobs:
            self.assertIn("module load GCCcore/13.2.0 || exit\nmodule load Clang/17.0.6 || exit", text)
        self.assertTrue(any("make CC=gcc OUT=stream-gcc 'CFLAGS=-O3 -march=native' LTO=1" in text for text in texts))

    def test_what_is_loaded_follows_the_axis(self):
        self.write("software.yaml", STUDY)
        self.write("bash_env", MODULE)
        self.hpcbench("run", "software.yaml", env={"BASH_ENV": str(self.folder / "bash_env")})
        report = self.report("software.yaml")
        outputs = []
        for row in report["rows"]:
            folder = self.folder / "results/software" / row["config_id"] / "r01/a1"
            outputs.append((folder / "stdout.log").read_text().splitlines())
            run = json.loads((folder / "run.json").read_text())
            minutes = 5 if row["axes"]["cuda"] == "12.1" else 6
            self.assertEqual((run["resources"]["time_s"], run["resources"]["mem"]), (60 * minutes, f"{minutes}G"))
        self.assertEqual(outputs[0], ["module load CUDA/12.1", "setup 12.1", "took=4 from 12.1"])
        self.assertEqual(outputs[1], ["module load CUDA/13.0", "module load NCCL/2.20", "module load two words", "setup 13.0", "took=2 from 13.0"])
        # Each row beside the old release on as many gpus.
        self.assertEqual([(r["gpus"], r["ratio_of_medians"], r["efficiency"]) for r in report["rows"]],
                         [(1, 1, None), (1, 2, None), (2, 1, None), (2, 2, None)])
        self.assertTrue(any("of equal nodes, gpus and ranks" in note for note in report["notes"]))

    def test_values_count_for_identity_and_their_spelling_does_not(self):
        def plan():
            return json.loads(self.hpcbench("plan", "software.yaml", "--format", "json").stdout)
        self.write("software.yaml", STUDY)
        self.write("bash_env", MODULE)
        self.hpcbench("run", "software.yaml", env={"BASH_ENV": str(self.folder / "bash_env")})
        self.write("software.yaml", STUDY.replace("{{minutes}}m", "{{minutes}}0m").replace('"CUDA/{{cuda}}"', '"{{toolkit}}"')
                   .replace("repeats: 1", "repeats: 1\nderive: {toolkit: cuda}").replace('"{{toolkit}}"', '"CUDA/{{toolkit}}"'))
        self.assertEqual((plan()["kept"], plan()["new"]), (4, 0))
        self.write("software.yaml", STUDY.replace('"CUDA/{{cuda}}"', '"cuda/{{cuda}}"'))
        self.assertEqual((plan()["kept"], plan()["new"]), (0, 4))

    def test_a_partition_by_override_is_part_of_the_identity(self):
        study = "experiment: s\ncommand: [prog]\nmatrix: {gpus_per_node: [1, 2]}\n"
        def ids(text):
            self.write("s.yaml", text)
            return [row["config_id"] for row in json.loads(self.hpcbench("plan", "s.yaml", "--format", "json").stdout)["rows"]]
        plain = ids(study)
        changed = ids(study + "overrides: [{when: {gpus_per_node: 2}, partition: big, container: x.sif}]\n")
        self.assertEqual(changed[0], plain[0])
        self.assertNotEqual(changed[1], plain[1])


if __name__ == "__main__":
    unittest.main()
