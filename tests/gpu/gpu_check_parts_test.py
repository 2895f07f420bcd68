"""Parts of the check of a machine with GPUs that need none: what it makes of the machine, of time, and of what does not end."""
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
from contextlib import redirect_stdout
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("HPCBENCH_PROGRAMS", ROOT / "build/default/bin"))
sys.path[:0] = [str(ROOT / "bench/gpu_check"), str(ROOT / "bench")]
import check  # noqa: E402
import fault_steps  # noqa: E402
import gpus  # noqa: E402
import load  # noqa: E402
import parity_step  # noqa: E402
import profile_step  # noqa: E402
import study_steps  # noqa: E402
import trainer  # noqa: E402

# As nvidia-smi prints them; the second one is from the documentation of JASMIN's notebook service.
PLAIN = """GPU 0: NVIDIA H200 (UUID: GPU-11111111-aaaa-bbbb-cccc-000000000000)
GPU 1: NVIDIA H200 (UUID: GPU-22222222-aaaa-bbbb-cccc-000000000000)
GPU 2: NVIDIA A100-SXM4-80GB (UUID: GPU-22333333-aaaa-bbbb-cccc-000000000000)
"""
INSTANCES = """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-2927d07e-3fe9-7904-9e08-b08b82d9a37d)
  MIG 1g.10gb     Device  0: (UUID: MIG-6e95ef19-5145-571b-b040-7e731f1c1af3)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-e109d8d9-923e-7235-0429-96b7fdbcbd30)
  MIG 1g.10gb     Device  0: (UUID: MIG-b4bcd4f3-6f69-516d-9404-b5ada80d760b)
"""


class VisibleGpus(unittest.TestCase):
    def test_what_a_process_sees(self):
        h200, a100 = "NVIDIA H200", "NVIDIA A100-SXM4-80GB"
        for chosen, names in ((None, [h200, h200, a100]), ("", []), ("1", [h200]), ("2,0", [a100, h200]), ("0,7,1", [h200]), ("-1", []), ("NoDevFiles", []),
                              ("GPU-2233", [a100]), ("GPU-22", []), ("GPU-11111111-aaaa-bbbb-cccc-000000000000, 1", [h200, h200])):
            self.assertEqual(gpus.visible_gpus(PLAIN, chosen), names, chosen)

    def test_of_instances_a_process_sees_one(self):
        instance = "NVIDIA A100-SXM4-40GB MIG 1g.10gb"
        for chosen in (None, "MIG-b4bcd4f3-6f69-516d-9404-b5ada80d760b", "MIG-6e95,MIG-b4bc"):
            self.assertEqual(gpus.visible_gpus(INSTANCES, chosen), [instance], chosen)

    def test_nothing_is_listed(self):
        for listing in ("", "No devices found.\n", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"):
            self.assertEqual(gpus.visible_gpus(listing, None), [])


class Peak(unittest.TestCase):
    def test_names_that_look_alike(self):
        for name, peak in (("NVIDIA H100 80GB HBM3", 989), ("NVIDIA H100 PCIe", 756), ("NVIDIA H100 NVL", 835), ("NVIDIA H200", 989), ("NVIDIA H200 NVL", 835),
                           ("NVIDIA GH200 480GB", 989), ("NVIDIA A100-SXM4-80GB", 312), ("NVIDIA L40S", 362), ("NVIDIA L4", 121), ("NVIDIA B200", 2250),
                           ("NVIDIA A10G", None), ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None), ("Null GPU", None), ("", None)):
            self.assertEqual(gpus.peak_of(name), peak, name)


class ClockAndPower(unittest.TestCase):
    NAMES = load.FIELDS + ["clocks_event_reasons.sw_power_cap", "clocks_event_reasons.hw_slowdown"]

    def test_of_busy_gpus_only_and_without_what_is_no_number(self):
        text = ("345, 74.13, 31, 0, Not Active, Not Active\n1980, 690.10, 60, 100, Active, Not Active\n1755, 700.50, 64, 99, Active, Not Active\n"
                "1800, [N/A], ERR!, 98, [Not Supported], Not Active\n1900, 1.0, 99, [Unknown Error], Active, Active\n19")
        self.assertEqual(load.summary(text, self.NAMES), {"samples": 3, "sm_clock_mhz": 1800, "power_w": 695.3, "temperature_c": 64, "held back: sw_power_cap": 2})
        self.assertEqual(load.summary("", self.NAMES), {"samples": 0})

    def test_an_older_driver_has_another_name_for_the_reasons(self):
        script = """#!/bin/sh
case "$*" in *clocks_event_reasons*) echo 'Field "clocks_event_reasons.sw_power_cap" is not a valid field to query.'; exit 2 ;; esac
echo '1980, 700.00, 60, 100, Active, Not Active, Not Active'
case "$*" in *loop-ms*) exec sleep 600 ;; esac
"""
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "nvidia-smi")
            program.write_text(script)
            program.chmod(0o755)
            with mock.patch.dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"), load.Load() as sampled:
                end_s = time.monotonic() + 20
                while not sampled.output.tell() and time.monotonic() < end_s:
                    time.sleep(0.02)
                    sampled.output.seek(0, os.SEEK_END)
        row = sampled.row()
        self.assertEqual((row["sm_clock_mhz"], row["held back: sw_power_cap"]), (1980, 1), row)


class AStep(unittest.TestCase):
    def test_what_overlaps_is_busy_once(self):
        events = [{"cat": "kernel", "name": "product", "ts": 10.0 + 10 * number, "dur": 5.0} for number in range(4)]
        events += [{"cat": "gpu_memcpy", "name": "Memcpy HtoD", "ts": 12, "dur": 10}, {"cat": "cuda_runtime", "name": "cudaStreamSynchronize", "ts": 50, "dur": 1},
                   {"cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 90}, {"ph": "M", "name": "process_name"}]
        self.assertEqual(profile_step.of_a_step(events, 2),
                         {"kernels": 2.0, "copies": 0.5, "memsets": 0.0, "span_ms": 0.018, "busy_ms": 0.013, "idle_ms": 0.005, "host_waits": 0.5,
                          "longest_kernels": ["0.01 ms in 2: product"]})

    def test_without_kernels_there_is_nothing(self):
        self.assertIsNone(profile_step.of_a_step([{"cat": "cpu_op", "name": "aten::mm", "ts": 0, "dur": 9}], 1))


class OneGpu(unittest.TestCase):
    def machine(self, gpus, own_name):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(trainer.Machine, "list_gpus", lambda _: ["NVIDIA H200"] * gpus), \
                mock.patch.object(trainer, "own_name", lambda: own_name):
            return trainer.Machine(pathlib.Path(folder), pathlib.Path(folder), False)

    def test_two_ranks_share_it_where_each_can_have_a_host_of_its_own(self):
        named = ["unshare", "--uts", *trainer.AS_HOSTS]
        for gpus, own_name, counts in ((1, named, [2]), (1, [], []), (2, named, [2]), (4, named, [2, 4]), (3, [], [2, 3])):
            self.assertEqual(self.machine(gpus, own_name).rank_counts(), counts)
        strategies = [name for name, *_ in parity_step.cases(self.machine(1, named)) if "of one GPU" in name]
        self.assertIn("bert_squad fp32 fsdp on 2 of one GPU", strategies)
        self.assertFalse([name for name in strategies if " dp " in name])
        self.assertFalse([name for name, *_ in parity_step.cases(self.machine(2, named)) if "of one GPU" in name])

    def test_each_rank_has_its_own_name(self):
        command = trainer.own_name()
        if not command:
            self.skipTest("this machine allows no host names of one's own (unshare --uts)")
        said = [subprocess.run([*command, "hostname"], capture_output=True, text=True, env=dict(os.environ, RANK=rank)).stdout.strip() for rank in "01"]
        self.assertEqual(said, ["gpu-check-0", "gpu-check-1"])


class FakeMachine:
    """A machine whose trainings all end in one way."""
    device, count, numbers_count, device_name = "cuda", 1, True, "NVIDIA H200"

    def __init__(self, training):
        self.training, self.asked, self.kept = training, [], {}

    def rank_counts(self):
        return []

    def train(self, arguments, deadline_s, ranks=1, environment=None, device=None):
        self.asked.append((device, list(map(str, arguments))))
        return self.training


def killed_after(seconds):
    return trainer.Training(None, seconds, "", [{"event": "run_start"}])


class WhatDoesNotEnd(unittest.TestCase):
    def test_what_had_time_enough_hangs_and_the_rest_is_not_measured(self):
        for seconds, status in ((trainer.LONG_ENOUGH_S, "failed"), (3, "not measured")):
            rows = []
            parity_step.parity(FakeMachine(killed_after(seconds)), rows, time.monotonic() + 100)
            self.assertEqual({row["status"] for row in rows}, {status}, rows)
            for fault in (fault_steps.no_gpu, fault_steps.out_of_memory, fault_steps.limited(0.5, True)):
                found, values = fault(FakeMachine(killed_after(seconds)), time.monotonic() + 100)
                self.assertEqual(found, status, values)
        self.assertIn("last event: run_start", killed_after(90).last_words())

    def test_a_command_over_its_limit_takes_along_what_it_started(self):
        with tempfile.TemporaryDirectory() as folder:
            pid_file = pathlib.Path(folder, "pid")
            with self.assertRaises(subprocess.TimeoutExpired):
                trainer.run_limited(["bash", "-c", f"sleep 600 & echo $! > {pid_file}; wait"], 1)
            pid = int(pid_file.read_text())
        for _ in range(100):
            try:
                if pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                    break
            except FileNotFoundError:
                break
            time.sleep(0.05)
        else:
            os.kill(pid, signal.SIGKILL)
            self.fail("it continues")


class Parity(unittest.TestCase):
    def test_a_gpu_computes_fp32_as_the_cpu_does(self):
        # LibTorch's default lets cuDNN round to TF32, which alone exceeds the tolerance of parity.
        events = [{"event": "step", "grad_norm": 1.0}, {"event": "epoch", "train_loss": 2.0}, {"event": "run_end", "graph_steps": 3}]
        machine = FakeMachine(trainer.Training(0, 1.0, "", events))
        rows = []
        parity_step.parity(machine, rows, time.monotonic() + 100)
        self.assertEqual({row["status"] for row in rows}, {"passed"}, rows)
        for device, arguments in machine.asked:
            self.assertEqual("--tf32 false" in " ".join(arguments), device is None, arguments)

    def test_steps_with_cuda_graphs_have_to_be_replayed_and_have_the_same_bits(self):
        def found(norms, replayed):
            trainings = [trainer.Training(0, 1.0, "", [{"event": "step", "grad_norm": norm}, {"event": "run_end", "graph_steps": replayed}]) for norm in norms]
            machine = FakeMachine(None)
            machine.train = lambda arguments, deadline_s: trainings.pop(0)
            return parity_step.graphed(machine, "bert_squad bf16", time.monotonic() + 100)["status"]

        self.assertEqual((found([1.5, 1.5], 9), found([1.5, 1.5], 0), found([1.5, 1.5000001], 9)), ("passed", "failed", "failed"))


class Peers(unittest.TestCase):
    def test_a_peer_that_does_not_run_is_no_failure(self):
        rows = []
        machine = FakeMachine(None)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        machine.folder = pathlib.Path(folder.name)
        for program, said in (("hpcbench-train", "error: out of luck\n\n"), ("transformers-compiled", "")):
            run = machine.folder / "study" / program / "r01/a1"
            run.mkdir(parents=True)
            (run / "run.json").write_text(json.dumps({"axes": {"program": program}}))
            (run / "stderr.log").write_text(said)
        table = {"rows": [{"axes": {"program": program}, "n": 0, "outcomes": {"failed": 3}} for program in ("hpcbench-train", "transformers-compiled")]}
        study_steps.add_rows(machine, "study", table, rows, study_steps.TIMES)
        self.assertEqual([(row["status"], row["said"]) for row in rows], [("failed", "error: out of luck"), ("not measured", "")])


class Report(unittest.TestCase):
    def test_a_row_is_there_before_its_step_ends(self):
        with tempfile.TemporaryDirectory() as folder:
            seen = []

            def step(machine, rows, deadline_s):
                rows.append(trainer.row("first", "passed"))
                seen.append(json.loads(pathlib.Path(folder, "report.json").read_text())["steps"])

            arguments = ["check", "--cpu", "--minutes", "1", "--programs", folder, "--out", folder]
            with mock.patch.object(check, "STEPS", [("facts", "?", step, 1)]), mock.patch.object(sys, "argv", arguments), redirect_stdout(io.StringIO()):
                self.assertEqual(check.main(), 0)
            (during,), (after,) = seen[0], json.loads(pathlib.Path(folder, "report.json").read_text())["steps"]
            self.assertEqual((during["status"], during["reason"], during["rows"]), ("not measured", "it was ended before it was done", [{"name": "first", "status": "passed"}]))
            self.assertEqual((after["status"], after["reason"], after["rows"]), ("passed", "", during["rows"]))


class Time(unittest.TestCase):
    def limits(self, count, seconds):
        """Of the steps of a check of ten minutes on so many GPUs, of which the first takes so long."""
        limits = {}
        clock = [1000.0]

        def step(name):
            def run(machine, rows, deadline_s):
                limits[name] = deadline_s - clock[0]
                clock[0] += seconds if name == "facts" else 1
            return run
        steps = [(name, question, step(name), share) for name, question, _, share in check.STEPS]
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(check, "STEPS", steps), mock.patch.object(trainer.Machine, "list_gpus", lambda _: ["NVIDIA H200"] * count), \
                mock.patch.object(check.time, "monotonic", lambda: clock[0]), mock.patch.object(sys, "argv", ["", "--programs", folder, "--out", folder]), redirect_stdout(io.StringIO()):
            check.main()
        return limits

    def test_what_one_step_takes_too_long_the_others_have_less(self):
        whole = sum(share for *_, share in check.STEPS)
        self.assertAlmostEqual(whole, 1)
        first = self.limits(8, 1)["facts"]
        self.assertAlmostEqual(first, 600 * 0.02)
        self.assertAlmostEqual(self.limits(8, 100)["collectives"], 600 - 100 - 6, places=3)

    def test_steps_of_several_gpus_leave_their_time_to_the_others_where_there_is_one(self):
        one, several = self.limits(1, 1), self.limits(8, 1)
        for name in one:
            if name not in check.OF_SEVERAL:
                self.assertGreater(one[name], several[name] - 1e-6, name)
        self.assertAlmostEqual(one["facts"], 600 * 0.02 / 0.77)

    def test_what_is_worth_most_comes_first(self):
        self.assertEqual([name for name, *_ in check.STEPS][:4], ["facts", "start", "parity", "speed"])


class Bundle(unittest.TestCase):
    def test_a_torch_of_another_version_is_refused_before_anything_runs(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "hpcbench").write_text("#!/bin/sh\necho hpcbench 1\n")
            (folder / "hpcbench-train").write_text("#!/bin/sh\n# strip\necho 'hpcbench-train 1 (LibTorch 2.11.0, Gloo, NCCL)'\n")
            (folder / "strip").write_text("#!/bin/sh\n")
            for program in ("hpcbench", "hpcbench-train", "strip"):
                (folder / program).chmod(0o755)
            path = f"{folder}:{os.environ['PATH']}"
            subprocess.run([ROOT / "scripts/gpu-check.sh", "--bundle", "b.tar.gz", "--programs", "."], check=True, cwd=folder, capture_output=True, env={**os.environ, "PATH": path})
            with tarfile.open(folder / "b.tar.gz") as packed:
                packed.extractall(folder)
            for version, code, said in (("2.12.1+cu130", 3, "this bundle is built for torch 2.11, and that of"), ("2.11.0+cu130", 0, "gpu-check on cpu")):
                site = folder / version
                (site / "torch").mkdir(parents=True)
                (site / "torch/__init__.py").touch()
                (site / "torch/version.py").write_text(f"__version__ = '{version}'\n")
                done = subprocess.run([folder / "hpcbench-gpu-check/scripts/gpu-check.sh", "--cpu", "--minutes", "1", "--only", "collectives", "--out", "out"], cwd=folder,
                                      capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(site), "HPCBENCH_CHECK_PYTHON": sys.executable})
                self.assertIn(said, done.stdout + done.stderr)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertTrue((folder / "out/report.json").exists())


if __name__ == "__main__":
    unittest.main()
