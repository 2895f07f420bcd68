"""hpcbench-train under LibTorch's real CUDA build, on GPUs that only count (tests/gpu/null).

Needs 1.8 GB of wheels and a build of the trainer of its own, minutes long: it runs with HPCBENCH_LONG (scripts/test.sh --long), or where
HPCBENCH_NULL_GPU_TRAIN names a hpcbench-train that is built so. Nothing is computed: what is tested is that the program starts, chooses,
reports and ends, and what it asks of the GPU.
"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/null-gpu"
PROGRAMS = pathlib.Path(os.environ.get("HPCBENCH_PROGRAMS", ROOT / "build/default/bin"))
TRAIN = os.environ.get("HPCBENCH_NULL_GPU_TRAIN")
BERT = ["--task", "bert_squad", "--data", "data/squad2-excerpt.json", "--train-share", "0.9", "--eval", "false", "--batch-size", "4"]
MNIST = ["--data", "data/mnist", "--eval", "false"]
# What one optimiser step may come to, of BERT-base with AdamW, clipping and dropout, rows padded or packed. `launches`: kernels, products,
# memsets and copies. docs/gpu.md says where they come from.
PACKED = ["--padding", "none", "--pad-in-softmax", "false"]
LIMITS = {
    "bert fp32 padded": {"launches": 555, "host waits": 0, "copy to device": 1},
    "bert fp32 packed": {"launches": 498, "host waits": 0, "copy to device": 1},
    "bert bf16 padded": {"launches": 583, "host waits": 0, "copy to device": 1},
    "bert bf16 packed": {"launches": 526, "host waits": 0, "copy to device": 1},
    "mnist": {"launches": 45, "host waits": 0, "copy to device": 0},
}


def built():
    """A hpcbench-train that is linked with LibTorch for CUDA, beside the null GPU."""
    made = subprocess.run([sys.executable, ROOT / "tests/gpu/null/make_null_gpu.py", FOLDER], capture_output=True, text=True)
    if made.returncode == 77:
        raise unittest.SkipTest(made.stderr.strip().splitlines()[-1])
    if made.returncode:
        raise AssertionError(made.stderr)
    build = FOLDER / "trainer"
    for command in (["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=", "-DCMAKE_CXX_FLAGS=-O0", "-DHPCBENCH_TESTS=OFF",
                     f"-DHPCBENCH_TORCH_DIR={made.stdout.strip()}/torch"],
                    ["cmake", "--build", build, "--target", "hpcbench-train", "--parallel", "2"]):
        said = subprocess.run(command, capture_output=True, text=True)
        if said.returncode:
            raise AssertionError(said.stdout[-4000:] + said.stderr[-4000:])
    return str(build / "bin/hpcbench-train")


def setUpModule():
    global TRAIN
    if TRAIN:
        return
    if not os.environ.get("HPCBENCH_LONG"):
        raise unittest.SkipTest("builds the trainer for CUDA from 1.8 GB of wheels: scripts/test.sh --long does")
    TRAIN = built()


class Ended:
    def __init__(self, code, text, seconds, folder):
        self.code, self.text, self.seconds = code, text, seconds
        self.events = [json.loads(line) for path in sorted(folder.glob("events*")) for line in path.read_text().splitlines()]
        report = folder / "counts"
        lines = report.read_text().rstrip("\0").splitlines() if report.exists() else []
        self.counts = {name: int(count) for count, name in (line.split("\t") for line in lines)}

    def event(self, kind):
        return next(event for event in self.events if event["event"] == kind)


def start(folder, arguments, environment):
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "NULL_GPU_REPORT": str(folder / "counts"), **environment}
    return subprocess.Popen([TRAIN, "run", *arguments, "--device", "cuda", "--events", folder / "events.jsonl"], cwd=ROOT, env=variables,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def run(arguments, limit_s=300, **environment):
    with tempfile.TemporaryDirectory() as name:
        folder, begin = pathlib.Path(name), time.monotonic()
        process = start(folder, arguments, environment)
        try:
            text = process.communicate(timeout=limit_s)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"hangs: {process.communicate()[0]}")
        return Ended(process.returncode, text, time.monotonic() - begin, folder)


def run_ranks(arguments, ranks, limit_s=300, faults=None, **environment):
    """Ranks of one node, started as a launcher does; faults: rank -> NULL_GPU_FAULT."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        folders, processes, begin = [], [], time.monotonic()
        for rank in range(ranks):
            folders.append(pathlib.Path(name) / str(rank))
            folders[-1].mkdir()
            world = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks),
                     "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "NULL_GPU_COUNT": str(ranks), **environment}
            if faults and rank in faults:
                world["NULL_GPU_FAULT"] = faults[rank]
            processes.append(start(folders[-1], arguments, world))
        ends = []
        try:
            for process, folder in zip(processes, folders):
                text = process.communicate(timeout=max(1, limit_s - (time.monotonic() - begin)))[0]
                ends.append(Ended(process.returncode, text, time.monotonic() - begin, folder))
        finally:
            for process in processes:
                process.kill()
        return ends


def step_counts(arguments):
    """What one step asks of the GPU: the difference of runs of 4 and of 2 steps, halved."""
    few, more = (run([*arguments, "--max-steps", str(steps), "--log-every", "0"]) for steps in (2, 4))
    for ended in (few, more):
        if ended.code:
            raise AssertionError(ended.text)
    counts = {name: (count - few.counts.get(name, 0)) / 2 for name, count in more.counts.items()}
    copies = sum(counts.get(name, 0) for name in ("copy to device", "copy to host", "copy on device"))
    counts["launches"] = counts.get("kernel", 0) + counts.get("product", 0) + counts.get("memset", 0) + copies
    return counts


class GpuCheck(unittest.TestCase):
    def test_its_flow_runs_whole_and_it_claims_no_number(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "bin").mkdir()
            for program in (pathlib.Path(TRAIN), PROGRAMS / "hpcbench"):
                shutil.copy(program, folder / "bin")
            (folder / "templates").symlink_to(ROOT / "templates")
            done = subprocess.run([sys.executable, ROOT / "bench/gpu_check/check.py", "--programs", folder / "bin", "--minutes", "8", "--out", folder / "out"], cwd=ROOT,
                                  env={**os.environ, "NULL_GPU_COUNT": "2"}, capture_output=True, text=True)
            report = json.loads((folder / "out/report.json").read_text())
        self.assertFalse(report["numbers_count"], done.stdout + done.stderr)
        self.assertEqual(report["device_name"], "Null GPU")
        steps = {step["name"]: step for step in report["steps"]}
        for name in ("start", "parity", "speed", "scaling"):
            self.assertIn(steps[name]["status"], ("passed", "not measured"), steps[name])
        ran = [row["why"] for row in steps["parity"]["rows"]]
        self.assertIn("it ran; this GPU computes nothing", ran)
        self.assertEqual([row for row in steps["speed"]["rows"] if row["status"] == "passed"], [])
        faults = {row["name"]: row["status"] for row in steps["faults"]["rows"]}
        self.assertEqual((faults["no GPU is visible"], faults["out of memory in a forward pass"]), ("passed", "passed"), steps["faults"])


class NullGpu(unittest.TestCase):
    def test_it_trains_and_says_on_what(self):
        ended = run([*MNIST, "--max-steps", "2"])
        self.assertEqual(ended.code, 0, ended.text)
        facts = ended.event("run_start")
        self.assertEqual((facts["device"], facts["gpu_model"], facts["gpu_capability"], facts["driver_cuda"]), ("cuda", "Null GPU", "9.0", "13.0"))
        self.assertEqual(facts["gpu_uuid"], "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f")
        self.assertEqual(facts["versions"]["cuda"], "13.0")
        self.assertEqual(facts["environment"]["TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC"], "500")
        self.assertGreater(ended.event("run_end")["max_device_bytes"], 0)

    def test_what_is_not_there_is_told(self):
        for environment, part in (({"NULL_GPU_COUNT": "0"}, "no GPU is visible to this process"),
                                  ({"NULL_GPU_DRIVER": "0"}, "no GPU is visible to this process"),
                                  ({"NULL_GPU_DRIVER": "12080"}, "is too old: it can do CUDA 12.8, and this hpcbench-train is built with a LibTorch for CUDA 13.0")):
            ended = run([*MNIST, "--max-steps", "1"], **environment)
            self.assertEqual(ended.code, 2, ended.text)
            self.assertIn(part, ended.text)

    def test_a_mig_instance_has_its_own_kind_of_uuid(self):
        ended = run([*MNIST, "--max-steps", "1"], NULL_GPU_NAME="Null GPU MIG 1g.10gb")
        self.assertTrue(ended.event("run_start")["gpu_uuid"].startswith("MIG-0001"), ended.text)

    def test_memory_that_is_used_up_is_reported_as_such(self):
        faults = {"before the model": "cudaMalloc:1+:2", "in a step": "cudaMalloc:3+:2", "by cuBLAS": "cublasCreate_v2:1:3"}
        for place, fault in faults.items():
            with self.subTest(place):
                ended = run([*BERT, "--model", "tiny", "--max-steps", "2"], NULL_GPU_FAULT=fault)
                self.assertEqual(ended.code, 1, ended.text)
                self.assertEqual(ended.event("error").get("code"), "out_of_memory", ended.text)

    def test_ranks_have_a_gpu_each(self):
        ends = run_ranks([*MNIST, "--strategy", "ddp", "--max-steps", "2"], 2)
        for ended in ends:
            self.assertEqual(ended.code, 0, ended.text)
        self.assertEqual(len({ended.events[0]["gpu_uuid"] for ended in ends}), 2)

    def test_a_communicator_that_is_never_made(self):
        # A peer that hangs, and one that dies, while NCCL connects the others.
        timeout_s = 5
        for fault in ("ncclCommInitRankConfig:1:hang", "ncclCommInitRankConfig:1:kill"):
            with self.subTest(fault):
                faults = {0: "ncclCommInitRankConfig:1:hang", 1: fault}
                ends = run_ranks([*MNIST, "--strategy", "ddp", "--max-steps", "2", "--timeout", str(timeout_s)], 2, 120, faults)
                self.assertEqual(ends[0].code, 1, ends[0].text)
                self.assertIn("NCCL has not connected the ranks", ends[0].text)
                # The others have some seconds to say that they are there.
                self.assertLess(ends[0].seconds, 60)

    def test_losses_are_read_when_they_are_told_and_no_step_is_left_out(self):
        ended = run([*MNIST, "--max-steps", "5", "--log-every", "2", "--clip", "1"])
        self.assertEqual(ended.code, 0, ended.text)
        steps = [event for event in ended.events if event["event"] == "step"]
        self.assertEqual([event["step"] for event in steps], [2, 4])
        for event in steps:
            self.assertGreater(event["step_s"], 0)
            self.assertIn("grad_norm", event)
        epoch = ended.event("epoch")
        self.assertEqual((epoch["optimizer_steps"], epoch["samples"]), (5, 5 * 64))

    def test_what_a_step_asks_of_the_gpu(self):
        arguments = {"mnist": MNIST}
        for precision in ("fp32", "bf16"):
            base = [*BERT, "--model", "base", "--clip", "1", "--precision", precision]
            arguments |= {f"bert {precision} padded": base, f"bert {precision} packed": [*base, *PACKED]}
        for name, limits in LIMITS.items():
            found = step_counts(arguments[name])
            print(name, json.dumps({key: value for key, value in sorted(found.items()) if value}))
            for what, most in limits.items():
                self.assertLessEqual(found.get(what, 0), most, f"{name}: {what}")


if __name__ == "__main__":
    unittest.main()
