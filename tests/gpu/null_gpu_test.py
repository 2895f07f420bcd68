"""hpcbench-train under LibTorch's real CUDA build, on GPUs that only count (tests/gpu/null).

Needs 1.8 GB of wheels and a build of the trainer of its own, minutes long: it runs with HPCBENCH_LONG (scripts/test.sh --long), or where
HPCBENCH_NULL_GPU_TRAIN names a hpcbench-train that is built so. Nothing is computed: what is tested is that the program starts, chooses,
reports and ends, and what it asks of the GPU.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "bench"), str(ROOT / "tests/gpu")]
from artifacts import keep_report  # noqa: E402
from ports import free_port  # noqa: E402

FOLDER = ROOT / "build/null-gpu"
PROGRAMS = pathlib.Path(os.environ.get("HPCBENCH_PROGRAMS", ROOT / "build/default/bin"))
TRAIN = os.environ.get("HPCBENCH_NULL_GPU_TRAIN")
BERT = ["--task", "bert_squad", "--data", "data/squad2-excerpt.json", "--train-share", "0.9", "--eval", "false", "--batch-size", "4"]
MNIST = ["--data", "data/mnist", "--eval", "false"]
# Limits for one optimiser step of BERT-base with AdamW, clipping and dropout, rows padded or packed. `launches`: kernels, products, memsets
# and copies. tests/gpu/README.md explains them.
PACKED = ["--padding", "none", "--pad-in-softmax", "false"]
LIMITS = {
    "bert fp32 padded": {"launches": 338, "host waits": 0, "copy to device": 1},
    "bert fp32 packed": {"launches": 339, "host waits": 0, "copy to device": 1},
    "bert bf16 padded": {"launches": 343, "host waits": 0, "copy to device": 1},
    "bert bf16 packed": {"launches": 344, "host waits": 0, "copy to device": 1},
    # With LibTorch's operators alone.
    "bert fp32 torch": {"launches": 514, "host waits": 0, "copy to device": 1},
    "bert bf16 torch": {"launches": 543, "host waits": 0, "copy to device": 1},
    "mnist": {"launches": 45, "host waits": 0, "copy to device": 0},
}
# The same with CUDA graphs, once they are captured: the host's launches, and kernels and products of the graph.
GRAPHS = ["--cuda-graphs", "true"]
GRAPH_LIMITS = {
    "bert fp32 padded": {"launches": 12, "in a graph": 330, "host waits": 0, "copy to device": 1},
    "bert bf16 padded": {"launches": 12, "in a graph": 335, "host waits": 0, "copy to device": 1},
    "mnist": {"launches": 16, "in a graph": 34, "host waits": 0, "copy to device": 0},
}


def built(version="2.13.0", folder=FOLDER):
    """A hpcbench-train that is linked with LibTorch for CUDA of this version, beside the null GPU."""
    made = subprocess.run([sys.executable, ROOT / "tests/gpu/null/make_null_gpu.py", folder, "--torch", version], capture_output=True, text=True)
    if made.returncode == 77:
        raise unittest.SkipTest(made.stderr.strip().splitlines()[-1])
    if made.returncode:
        raise AssertionError(made.stderr)
    build = folder / "trainer"
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


def start(folder, arguments, environment, program=None):
    # A process that is killed while NCCL connects leaves its log file.
    variables = {**os.environ, "TMPDIR": str(folder), "OMP_NUM_THREADS": "1", "NULL_GPU_REPORT": str(folder / "counts"), **environment}
    return subprocess.Popen([program or TRAIN, "run", *([] if "--device" in arguments else ["--device", "cuda"]), *arguments, "--events", folder / "events.jsonl"], cwd=ROOT, env=variables,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def run(arguments, limit_s=300, program=None, **environment):
    with tempfile.TemporaryDirectory() as name:
        folder, begin = pathlib.Path(name), time.monotonic()
        process = start(folder, arguments, environment, program)
        try:
            text = process.communicate(timeout=limit_s)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"hangs: {process.communicate()[0]}")
        return Ended(process.returncode, text, time.monotonic() - begin, folder)


def run_ranks(arguments, ranks, limit_s=300, faults=None, program=None, without_gpu=(), **environment):
    """Ranks of one node, started as a launcher does; faults: rank -> NULL_GPU_FAULT; without_gpu: ranks that see none."""
    port = free_port()
    with tempfile.TemporaryDirectory() as name:
        folders, processes, begin = [], [], time.monotonic()
        for rank in range(ranks):
            folders.append(pathlib.Path(name) / str(rank))
            folders[-1].mkdir()
            world = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks),
                     "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "NULL_GPU_COUNT": str(ranks), **environment}
            if faults and rank in faults:
                world["NULL_GPU_FAULT"] = faults[rank]
            if rank in without_gpu:
                world["NULL_GPU_COUNT"] = "0"
            processes.append(start(folders[-1], arguments, world, program))
        ends = []
        try:
            for process, folder in zip(processes, folders):
                text = process.communicate(timeout=max(1, limit_s - (time.monotonic() - begin)))[0]
                ends.append(Ended(process.returncode, text, time.monotonic() - begin, folder))
        finally:
            for process in processes:
                process.kill()
        return ends


def step_counts(arguments, after=2, **environment):
    """Returns the requests of one step to the GPU: the difference of runs of two more and of `after` steps, halved."""
    few, more = (run([*arguments, "--max-steps", str(steps), "--log-every", "0"], **environment) for steps in (after, after + 2))
    for ended in (few, more):
        if ended.code:
            raise AssertionError(ended.text)
    counts = {name: (count - few.counts.get(name, 0)) / 2 for name, count in more.counts.items()}
    copies = sum(counts.get(name, 0) for name in ("copy to device", "copy to host", "copy on device"))
    counts["launches"] = sum(counts.get(name, 0) for name in ("kernel", "product", "memset", "graph launch")) + copies
    counts["in a graph"] = sum(count for name, count in counts.items() if name.endswith(" in a graph"))
    return counts


# By LibTorch's schemas: operators that only call others (CompositeImplicitAutograd), and views and allocations, which launch nothing.
COMPOSITE = {"linear", "matmul", "to", "reshape", "lstm", "batch_norm", "_batch_norm_impl_index", "log_softmax", "nll_loss", "contiguous", "flatten", "ones_like",
             "zeros_like", "zeros", "ones", "chunk", "cudnn_is_acceptable", "result_type", "resolve_conj", "resolve_neg"}
NO_WORK = {"view", "t", "transpose", "select", "as_strided", "expand", "detach", "empty", "empty_like", "empty_strided", "narrow", "slice", "unsqueeze", "squeeze", "split",
           "alias", "resize_", "set_", "_unsafe_view", "lift_fresh", "new_empty"}


def operators_of(trace):
    """Names of the operators in a trace that are not inside another one, as tests/gpu/README.md counts them."""
    found, ends = [], {}
    calls = [event for event in trace["traceEvents"] if event.get("cat") == "cpu_op" and event["name"].startswith("aten::")]
    for event in sorted(calls, key=lambda each: (float(each["ts"]), -float(each["dur"]))):
        name, begin = event["name"].removeprefix("aten::"), float(event["ts"])
        if begin < ends.get(event["tid"], 0) or name in COMPOSITE:
            continue
        ends[event["tid"]] = begin + float(event["dur"])
        if name not in NO_WORK:
            found.append(name)
    return found


class GpuCheck(unittest.TestCase):
    def test_its_flow_runs_whole_and_it_claims_no_number(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "bin").mkdir()
            for program in (pathlib.Path(TRAIN), PROGRAMS / "hpcbench"):
                shutil.copy(program, folder / "bin")
            (folder / "templates").symlink_to(ROOT / "templates")
            done = subprocess.run([ROOT / "scripts/gpu-check.sh", "--programs", folder / "bin", "--minutes", "8", "--out", folder / "out"], cwd=folder,
                                  env={**os.environ, "NULL_GPU_COUNT": "2"}, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            report = json.loads((folder / "out/report.json").read_text())
            page = (folder / "out/report.html").read_text()
            keep_report(folder / "out", "gpu-check-null-gpu", PROGRAMS)
        self.assertFalse(report["numbers_count"], done.stdout + done.stderr)
        self.assertEqual(report["device_name"], "Null GPU")
        steps = {step["name"]: step for step in report["steps"]}
        self.assertEqual(list(steps), ["facts", "start", "parity", "speed", "scaling", "profile", "faults", "collectives"])
        self.assertEqual(done.returncode, 1 if any(step["status"] == "failed" for step in steps.values()) else 0, done.stdout + done.stderr)
        for step in steps.values():
            self.assertIn(step["question"], page)
            for row in step["rows"]:
                self.assertTrue(row["status"] in ("passed", "note") or row["why"], row)
        for name in ("facts", "start", "parity", "profile", "collectives", "speed", "scaling"):
            self.assertIn(steps[name]["status"], ("passed", "not measured"), steps[name])
        ran = [row["why"] for row in steps["parity"]["rows"]]
        self.assertIn("it ran; this GPU computes nothing", ran)
        self.assertEqual([row for row in steps["speed"]["rows"] if row["status"] == "passed"], [])
        self.assertEqual([row["why"] for row in steps["speed"]["rows"] if row["name"] == "MFU"], ["this GPU computes nothing"])
        faults = {row["name"]: row["status"] for row in steps["faults"]["rows"]}
        for name in ("no GPU is visible", "out of memory in a forward pass", "a peer is killed while NCCL connects", "a peer hangs while NCCL connects"):
            self.assertEqual(faults[name], "passed", steps["faults"])
        for name in ("out of memory at the start", "out of memory in a backward pass"):  # last: there may be no time for them
            self.assertIn(faults[name], ("passed", "not measured"), steps["faults"])


class OtherVersions(unittest.TestCase):
    @unittest.skipUnless(os.environ.get("HPCBENCH_LONG"), "builds the trainer for two more versions of torch: scripts/test.sh --long does")
    def test_the_trainer_is_built_and_starts_with_each_torch_that_is_supported(self):
        for version in ("2.11.0", "2.12.1"):
            with self.subTest(version):
                program = built(version, FOLDER.with_name(f"null-gpu-{version}"))
                said = subprocess.check_output([program, "--version"], text=True)
                self.assertIn(f"LibTorch {version}", said)
                for arguments in ([*MNIST, "--max-steps", "2"], [*MNIST, "--max-steps", "2", "--tf32", "false"], [*BERT, "--model", "tiny", "--precision", "bf16", "--max-steps", "2"],
                                  [*BERT, "--model", "tiny", "--precision", "bf16", "--max-steps", "5", *GRAPHS], [*MNIST, "--max-steps", "5", *GRAPHS]):
                    ended = run(arguments, program=program)
                    self.assertEqual(ended.code, 0, ended.text)
                for strategy in ("ddp", "fsdp"):
                    for ended in run_ranks([*MNIST, "--strategy", strategy, "--max-steps", "2"], 2, program=program):
                        self.assertEqual(ended.code, 0, ended.text)


class MemoryAtACheckpoint(unittest.TestCase):
    """Without LibTorch's cache of blocks, which would hide the requests of a save: then each block is a cudaMalloc."""
    STEPS = [*MNIST, "--max-steps", "3"]
    KEPT = ["--checkpoint", "last", "--checkpoint-every", "2"]  # after steps 2 and 3
    UNCACHED = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}

    def ended(self, strategy, arguments, folder, faults=None):
        words = [*self.STEPS, "--strategy", strategy, "--output", folder, *arguments]
        if strategy in ("baseline", "dp"):
            return [run(words, **self.UNCACHED, NULL_GPU_COUNT="2")]
        return run_ranks(words, 2, faults=faults, **self.UNCACHED)

    def blocks(self, strategy, arguments):
        """Of each rank."""
        with tempfile.TemporaryDirectory() as folder:
            ends = self.ended(strategy, arguments, folder)
        for ended in ends:
            self.assertEqual(ended.code, 0, ended.text)
        return [ended.counts["cudaMalloc"] for ended in ends]

    def test_only_what_is_gathered_needs_memory_on_the_gpu(self):
        for strategy in ("baseline", "dp", "ddp", "zero2", "fsdp"):
            without = self.blocks(strategy, [])
            for form in ("whole", "sharded"):
                with self.subTest(strategy, form=form):
                    more = [kept - none for kept, none in zip(self.blocks(strategy, [*self.KEPT, "--checkpoint-format", form]), without)]
                    if form == "whole" and strategy in ("zero2", "fsdp"):
                        self.assertGreater(min(more), 1)
                    else:
                        self.assertEqual(set(more), {1})  # the losses since the last reading, in one block; nothing for the state

    def test_memory_that_is_used_up_by_a_save_leaves_the_checkpoint_before_it(self):
        for strategy in ("zero2", "fsdp"):
            last = self.blocks(strategy, self.KEPT)
            for victim in (0, 1):
                with self.subTest(strategy, victim=victim), tempfile.TemporaryDirectory() as folder:
                    ends = self.ended(strategy, self.KEPT, folder, {victim: f"cudaMalloc:{last[victim]}:2"})
                    self.assertEqual([ended.code for ended in ends], [1, 1], ends[victim].text)
                    error = ends[victim].event("error")
                    self.assertEqual((error["code"], error["operation"], error["step"]), ("out_of_memory", "checkpoint", 3))
                    self.assertIn("another rank failed first", ends[1 - victim].event("error")["text"])
                    self.assertEqual(self.saves(ends[0]), [2])
                    # A rank that ends at once leaves the file of its lock, which no process then holds.
                    self.assertEqual(set(os.listdir(f"{folder}/checkpoint")) - {"lock"}, {"last.safetensors"})
                    resumed = self.ended(strategy, [*self.KEPT, "--resume", f"{folder}/checkpoint"], folder)
                    self.assertEqual([ended.code for ended in resumed], [0, 0], resumed[0].text)
                    # Rank 0 waits for no other here, because collectives end at once: without rank 1 it may have written the whole file.
                    self.assertIn(self.saves(resumed[0]), [[3]] if victim == 0 else [[3], []])

    @staticmethod
    def saves(ended):
        return [event["step"] for event in ended.events if event["event"] == "checkpoint"]


class NullGpu(unittest.TestCase):
    def test_it_trains_and_says_on_what(self):
        ended = run([*MNIST, "--max-steps", "2"])
        self.assertEqual(ended.code, 0, ended.text)
        facts = ended.event("run_start")
        self.assertEqual((facts["device"], facts["gpu_model"], facts["gpu_capability"], facts["driver_cuda"]), ("cuda", "Null GPU", "9.0", "13.0"))
        self.assertEqual(facts["gpu_uuid"], "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f")
        self.assertEqual(facts["versions"]["cuda"], "13.0")
        self.assertEqual(facts["environment"]["TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC"], "20")
        self.assertGreater(ended.event("run_end")["max_device_bytes"], 0)

    def test_kernels_are_counted_by_name_where_that_is_wanted(self):
        counts = run([*MNIST, "--max-steps", "2"], NULL_GPU_KERNELS="1").counts
        named = {name: count for name, count in counts.items() if name.startswith("kernel ")}
        self.assertEqual(sum(named.values()), counts["kernel"])
        self.assertTrue(any("softmax_warp_forward" in name for name in named), named)

    def test_operators_need_not_be_deterministic(self):
        free = run([*BERT, "--model", "tiny", "--max-steps", "2", "--deterministic", "false"])
        self.assertEqual(free.code, 0, free.text)
        self.assertEqual(free.event("run_start")["deterministic"], "false")

    def test_cublas_is_told_of_no_workspace(self):
        # LibTorch has one for each stream; if the variable is set, LibTorch reads it again at every product, which takes longer than the
        # product.
        for environment in ({}, {"CUBLAS_WORKSPACE_CONFIG": ":16:8"}):
            ended = run([*MNIST, "--max-steps", "1"], **environment)
            self.assertEqual(ended.code, 0, ended.text)
            told = {name: value for name, value in ended.event("run_start")["environment"].items() if name.startswith("CUBLAS")}
            self.assertEqual(told, environment)

    def test_a_trace_without_kernels_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            ended = run([*MNIST, "--max-steps", "3", "--trace", "2", "--output", folder])
            self.assertEqual(ended.code, 0, ended.text)
            self.assertIn("trace/rank-0.json has no kernels: CUPTI did not tell LibTorch of any", ended.text)
            trace = json.loads(pathlib.Path(folder, "trace/rank-0.json").read_text())
            self.assertTrue(any(event.get("cat") == "cpu_op" for event in trace["traceEvents"]))

    def test_tf32_is_as_it_was_asked_for_and_else_as_libtorch_has_it(self):
        for arguments, facts in (([], ("false", "true")), (["--tf32", "true"], ("true", "true")), (["--tf32", "false"], ("false", "false"))):
            ended = run([*MNIST, "--max-steps", "1", *arguments])
            self.assertEqual(ended.code, 0, ended.text)
            start = ended.event("run_start")
            self.assertEqual((start["tf32_matmul"], start["tf32_cudnn"]), facts, arguments)

    def test_a_large_batch_asks_for_the_limits_of_the_gpu(self):
        # More than 3,072 tokens. Everything that sorts with CUB divides by the largest grid.
        ended = run([*BERT, "--model", "tiny", "--batch-size", "64", "--max-steps", "2"])
        self.assertEqual(ended.code, 0, ended.text)

    def test_what_is_not_there_is_told(self):
        for environment, part in (({"NULL_GPU_COUNT": "0"}, "no GPU is visible to this process"),
                                  ({"NULL_GPU_DRIVER": "0"}, "no GPU is visible to this process"),
                                  ({"NULL_GPU_DRIVER": "12080"}, "is too old: it can do CUDA 12.8, and this hpcbench-train is built with a LibTorch for CUDA 13.0")):
            ended = run([*MNIST, "--max-steps", "1"], **environment)
            self.assertEqual(ended.code, 2, ended.text)
            self.assertIn(part, ended.text)

    def test_kernels_that_cannot_be_compiled_are_told_with_the_way_out(self):
        fault = {"NULL_GPU_FAULT": "nvrtcCompileProgram:1:6"}
        ended = run([*BERT, "--model", "tiny", "--max-steps", "1"], **fault)
        self.assertEqual(ended.code, 1, ended.text)
        self.assertIn("error: the kernels for GPUs cannot be compiled: an error of the null GPU; `kernels: torch` does without", ended.text)
        ended = run([*BERT, "--model", "tiny", "--max-steps", "1", "--kernels", "torch"], **fault)
        self.assertEqual((ended.code, ended.event("run_start")["kernels"]), (0, "torch"), ended.text)
        self.assertEqual(run([*BERT, "--model", "tiny", "--max-steps", "1"]).event("run_start")["kernels"], "own")
        self.assertEqual(run([*MNIST, "--max-steps", "1"], **fault).event("run_start")["kernels"], "torch")

    def test_a_mig_instance_has_its_own_kind_of_uuid(self):
        ended = run([*MNIST, "--max-steps", "1"], NULL_GPU_NAME="Null GPU MIG 1g.10gb")
        self.assertTrue(ended.event("run_start")["gpu_uuid"].startswith("MIG-0001"), ended.text)

    def test_memory_that_is_used_up_is_reported_as_such(self):
        faults = {"before the model": "cudaMalloc:1+:2", "in a step": "cudaMalloc:3+:2", "by cuBLAS": "cublasCreate_v2:1:3", "by cuDNN": "cudnnSetRNNDescriptor_v8:1:4004"}
        for place, fault in faults.items():
            with self.subTest(place):
                task = MNIST if place == "by cuDNN" else [*BERT, "--model", "tiny"]
                ended = run([*task, "--max-steps", "2"], NULL_GPU_FAULT=fault)
                self.assertEqual(ended.code, 1, ended.text)
                self.assertEqual(ended.event("error").get("code"), "out_of_memory", ended.text)

    def test_ranks_have_a_gpu_each(self):
        ends = run_ranks([*MNIST, "--strategy", "ddp", "--max-steps", "2"], 2)
        for ended in ends:
            self.assertEqual(ended.code, 0, ended.text)
            self.assertNotIn("destroy_process_group", ended.text)  # LibTorch's complaint about a process that ends without
        self.assertEqual(len({ended.events[0]["gpu_uuid"] for ended in ends}), 2)
        for ended in ends:
            facts = ended.event("run_start")
            # The transports of both ranks, from NCCL's log, whose variables and file are gone again.
            self.assertEqual((facts["nccl_local_transport"], facts["nccl_network_transport"]), ("P2P", "NET/Socket"))
            self.assertFalse([name for name in facts["environment"] if name.startswith("NCCL_DEBUG")], facts)

    def test_a_rank_without_a_gpu_among_others_is_refused_at_once(self):
        for ended in run_ranks([*MNIST, "--strategy", "ddp", "--device", "auto", "--timeout", "60"], 2, 120, without_gpu=[1]):
            self.assertEqual(ended.code, 2, ended.text)
            self.assertIn("sees no GPU, but rank 0", ended.text)
            self.assertLess(ended.seconds, 40)

    def test_a_log_of_nccl_that_the_user_wants_is_left_alone(self):
        with tempfile.TemporaryDirectory() as name:
            log = pathlib.Path(name, "nccl.log")
            ended = run_ranks([*MNIST, "--strategy", "ddp", "--max-steps", "1"], 2, NCCL_DEBUG="INFO", NCCL_DEBUG_FILE=str(log))[0]
            self.assertIn("via P2P/IPC", log.read_text())
        facts = ended.event("run_start")
        self.assertEqual(facts["environment"]["NCCL_DEBUG"], "INFO")
        self.assertNotIn("nccl_local_transport", facts)

    def test_communication_is_timed_by_the_gpu(self):
        # Every measurement takes the null GPU 1 ms: each sum of ddp, the stretch in which computing waits for it, each pass and update.
        steps = 3
        for strategy in ("ddp", "zero2"):
            with self.subTest(strategy):
                for ended in run_ranks([*MNIST, "--batch-norm", "false", "--strategy", strategy, "--max-steps", str(steps)], 2):
                    self.assertEqual(ended.code, 0, ended.text)
                    end = ended.event("run_end")
                    exchanges = steps * end["units"] * (1 if strategy == "ddp" else 2)
                    self.assertAlmostEqual(end["communication_exposed_s"], exchanges * 1e-3, places=6)
                    self.assertAlmostEqual(end["communication_hidden_s"], 0, places=6)
                    self.assertAlmostEqual(end["compute_s"], 2 * steps * 1e-3 - exchanges * 1e-3, places=6)

    def test_a_communicator_that_is_never_made(self):
        # A peer that hangs, and one that dies, while NCCL connects the others.
        timeout_s = 5
        for fault in ("ncclCommInitRankConfig:1:hang", "ncclCommInitRankConfig:1:kill"):
            with self.subTest(fault):
                faults = {0: "ncclCommInitRankConfig:1:hang", 1: fault}
                ends = run_ranks([*MNIST, "--strategy", "ddp", "--max-steps", "2", "--timeout", str(timeout_s)], 2, 120, faults)
                self.assertEqual(ends[0].code, 1, ends[0].text)
                self.assertIn("NCCL has not connected the ranks", ends[0].text)
                # The others have some seconds to answer that they are alive.
                self.assertLess(ends[0].seconds, 60)

    def test_a_collective_that_never_ends(self):
        # No event of the GPU has arrived, and the host waits: this is what NCCL's watchdog sees of a peer that hangs.
        timeout_s = 5
        home = self.enterContext(tempfile.TemporaryDirectory())
        never = "cudaEventQuery:1+:600,ncclAllReduce:3:hang"
        ends = run_ranks([*MNIST, "--strategy", "ddp", "--max-steps", "20", "--timeout", str(timeout_s)], 2, 120, {0: never, 1: never}, HOME=home)
        self.assertEqual([ended.code for ended in ends], [1, 1], ends[0].text)
        self.assertEqual(os.listdir(home), [])
        error = ends[0].event("error")
        self.assertIn("Watchdog caught collective operation timeout", error["text"])
        self.assertNotIn("frame #", error["text"])
        # As docs/gpu.md describes the check's faults. The first collective, which is the late one, was before run_start.
        self.assertLess(error["t"] - ends[0].event("run_start")["t"], timeout_s + 5)

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
            arguments |= {f"bert {precision} padded": base, f"bert {precision} packed": [*base, *PACKED], f"bert {precision} torch": [*base, "--kernels", "torch"]}
        for name, limits in LIMITS.items():
            found = step_counts(arguments[name])
            print(name, json.dumps({key: value for key, value in sorted(found.items()) if value}))
            for what, most in limits.items():
                self.assertLessEqual(found.get(what, 0), most, f"{name}: {what}")

    def test_what_a_step_asks_of_the_gpu_with_cuda_graphs(self):
        for name, limits in GRAPH_LIMITS.items():
            task = [*MNIST, "--batch-size", "64"] if name == "mnist" else [*BERT, "--model", "base", "--clip", "1", "--precision", name.split()[1]]
            found = step_counts([*task, *GRAPHS], after=5)
            print(name, "with CUDA graphs", json.dumps({key: value for key, value in sorted(found.items()) if value}))
            for what, most in limits.items():
                self.assertLessEqual(found.get(what, 0), most, f"{name}: {what}")
            # All work of the steps, and the three operations that only graphs need: two fills for the generator, a copy of the loss.
            self.assertGreaterEqual(found["in a graph"], LIMITS[name]["launches"] - found["launches"], name)
            self.assertEqual(found["graph launch"], 1)

    def test_a_step_of_mnist_rnn_takes_at_most_40_operators(self):
        with tempfile.TemporaryDirectory() as folder:
            ended = run([*MNIST, "--max-steps", "6", "--log-every", "0", "--trace", "5-5", "--output", folder])
            self.assertEqual(ended.code, 0, ended.text)
            found = operators_of(json.loads(pathlib.Path(folder, "trace/rank-0.json").read_text()))
        print("mnist_rnn:", len(found), "operators")
        for name in ("_cudnn_rnn", "_cudnn_rnn_backward", "nll_loss_forward", "_foreach_sqrt_"):
            self.assertIn(name, found)
        self.assertLessEqual(len(found), 40, found)

    def test_a_graph_is_for_steps_of_its_shape(self):
        # 674 features by 32: the last step of an epoch has 2. Captured in the third step.
        ended = run([*BERT, "--model", "tiny", "--max-length", "64", "--doc-stride", "16", "--batch-size", "32", "--epochs", "2", "--log-every", "0", *GRAPHS])
        self.assertEqual(ended.code, 0, ended.text)
        steps = sum(event["optimizer_steps"] for event in ended.events if event["event"] == "epoch")
        self.assertEqual(ended.event("run_end")["graph_steps"], steps - 2 - 2)
        self.assertEqual((ended.counts["cudaStreamBeginCapture"], ended.counts["graph launch"]), (1, steps - 4))
        self.assertNotIn("capture invalidated", ended.counts)
        self.assertEqual((ended.event("run_start")["cuda_graphs"], run([*MNIST, "--max-steps", "1"]).event("run_start")["cuda_graphs"]), ("true", "false"))

    def test_a_step_that_cannot_be_captured_is_told_with_the_way_out(self):
        task = [*BERT, "--model", "tiny", "--precision", "bf16", "--max-steps", "6", *GRAPHS]
        for fault, code in (("cudaStreamBeginCapture:1:900", None), ("cudaStreamEndCapture:1:901", None), ("cudaGraphInstantiateWithFlags:1:2", "out_of_memory")):
            with self.subTest(fault):
                ended = run(task, NULL_GPU_FAULT=fault)
                self.assertEqual((ended.code, ended.event("error").get("code"), ended.event("error")["step"]), (1, code, 3), ended.text)
                self.assertIn("while a step was captured as a CUDA graph: `cuda_graphs: false` does without", ended.text)
        # The last block of memory is the graph's.
        blocks = run(task).counts["cudaMalloc"]
        ended = run(task, NULL_GPU_FAULT=f"cudaMalloc:{blocks}:2")
        self.assertEqual((ended.code, ended.event("error").get("code"), ended.event("error")["step"]), (1, "out_of_memory", 3), ended.text)

    def test_what_a_step_asks_does_not_depend_on_the_number_of_rows(self):
        for precision in ("fp32", "bf16"):
            for kind, more in (("padded", []), ("packed", PACKED)):
                base = [*BERT, "--model", "base", "--clip", "1", "--precision", precision, *more]
                found = {rows: step_counts([*base, "--batch-size", str(rows)], NULL_GPU_MEMORY_MB="80000") for rows in (16, 32)}
                print(f"bert {precision} {kind}:", {rows: counts["launches"] for rows, counts in found.items()})
                self.assertEqual(found[16]["launches"], found[32]["launches"])
                for what, most in LIMITS[f"bert {precision} {kind}"].items():
                    self.assertLessEqual(found[16].get(what, 0), most, f"{precision} {kind}: {what}")


if __name__ == "__main__":
    unittest.main()
