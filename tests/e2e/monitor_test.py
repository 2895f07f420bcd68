"""`monitor` in local runs: processors and memory of the ranks, and gpus where a tool for them exists."""
import os
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

# Each rank computes until there are three samples.
STUDY = """experiment: busy
command: [bash, -c, 'until [ "$(grep -c "" "${HPCBENCH_RUN%/*}/monitor.csv" 2>/dev/null)" -ge 4 ] 2>/dev/null; do :; done']
matrix: {size: [4], RANKS: [2]}
repeats: 1
monitor: 0.2s
"""
TOOL = """#!/bin/bash
[[ $* == *" -l "* ]] || exit 0
echo "timestamp, index, utilization.gpu [%], memory.used [MiB]"
ids=0,1,2
[[ ${!#} != --id=* ]] || ids=${!##--id=}
for gpu in ${ids//,/ }; do
  echo "2025/11/12 09:46:30.648, $gpu, $((40 + gpu)) %, 1024 MiB"
done
exec sleep 60
"""


class Monitor(StudyTest):
    def shown(self):
        return self.hpcbench("show", "busy/size=4").stdout

    def path_without_gpus(self):
        folders = [f for f in os.environ["PATH"].split(":") if not os.path.exists(f + "/nvidia-smi")]
        return {"PATH": ":".join(folders)}

    def test_a_local_run_on_processors(self):
        self.write("busy.yaml", STUDY.replace("RANKS", "ranks_per_node"))
        said = self.hpcbench("run", "busy.yaml", env=self.path_without_gpus()).stderr
        shown = self.shown()
        self.assertGreater(float(re.search(r"(?m)^ *cpu_percent +([0-9.]+)", shown)[1]), 0)
        self.assertGreater(float(re.search(r"(?m)^ *rss_peak_bytes +([0-9.e+]+)", shown)[1]), 100_000)
        self.assertNotIn("nvidia-smi", said + shown)
        lines = next(self.folder.rglob("monitor.csv")).read_text().splitlines()
        self.assertEqual(lines[0], "time_s,processes,cpu_percent,rss_bytes")
        self.assertGreaterEqual(int(lines[1].split(",")[1]), 2)

    def test_a_local_run_with_gpus_says_that_no_tool_samples_them(self):
        self.write("busy.yaml", STUDY.replace("RANKS", "gpus_per_node"))
        said = self.hpcbench("run", "busy.yaml", env=self.path_without_gpus()).stderr
        self.assertIn("note: busy.yaml:5:10: nvidia-smi is not on PATH, so `monitor` samples processors and memory, not gpus", said)
        shown = self.shown()
        self.assertIn("monitor: nvidia-smi was not found", shown)
        self.assertIn("rss_peak_bytes", shown)

    def test_a_local_run_with_gpus_samples_those_that_it_sees(self):
        tool = self.write("bin/nvidia-smi", TOOL, 0o755)
        self.write("busy.yaml", STUDY.replace("RANKS", "gpus_per_node"))
        path = {"PATH": f"{tool.parent}:{os.environ['PATH']}"}
        self.hpcbench("run", "busy.yaml", env={**path, "CUDA_VISIBLE_DEVICES": "1,2"})
        shown = self.shown()
        self.assertRegex(shown, r"gpu_utilization_percent +41.5")
        self.assertNotIn("warning", shown)
        self.hpcbench("run", "busy.yaml", "--again", env={**path, "CUDA_VISIBLE_DEVICES": ""})
        shown = self.shown()
        self.assertRegex(shown, r"gpu_utilization_percent +41\b")
        self.assertIn("gpu.csv: 3 gpus were sampled, the run has 2: set CUDA_VISIBLE_DEVICES to leave out the work of others", shown)

    def test_a_run_without_gpus_samples_none(self):
        tool = self.write("bin/nvidia-smi", TOOL, 0o755)
        # With a set-up line the job script starts the ranks.
        self.write("busy.yaml", STUDY.replace("RANKS", "ranks_per_node") + "setup: ['export A=1']\n")
        self.hpcbench("run", "busy.yaml", env={"PATH": f"{tool.parent}:{os.environ['PATH']}"})
        shown = self.shown()
        self.assertIn("cpu_percent", shown)
        self.assertNotIn("gpu_utilization_percent", shown)


if __name__ == "__main__":
    unittest.main()
