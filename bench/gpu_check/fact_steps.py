"""Records the machine's properties, and whether the trainer starts on it."""
import os
import platform
import subprocess
import time

from trainer import MNIST, PYTHON, SQUAD, out_of_time, row

TARGET_FIRST_STEP_S = 5
COMMANDS = {
    "gpus": ["nvidia-smi", "--query-gpu=index,name,uuid,memory.total,driver_version,pcie.link.gen.current,pcie.link.width.current,persistence_mode,"
             "power.limit,clocks.max.sm,clocks.max.memory,ecc.mode.current,mig.mode.current,compute_mode", "--format=csv"],
    "topology": ["nvidia-smi", "topo", "-m"],
    "now on the GPUs": ["nvidia-smi", "--query-compute-apps=pid,name,used_memory", "--format=csv"],
    "compiler": ["nvcc", "--version"],
    "torch": [PYTHON, "-c", "import torch; print(torch.__version__, torch.version.cuda, torch.cuda.is_available(), torch.__file__)"],
    "processor": ["lscpu"],
    "limits": ["bash", "-c", "ulimit -a; cat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/memory.max 2>/dev/null; df -h /dev/shm"],
}
VARIABLES = ("CUDA_", "NCCL_", "TORCH_", "PYTORCH_", "NVIDIA_", "OMP_", "LD_LIBRARY_PATH", "SLURM_")


def facts(machine, rows, deadline_s):
    rows.append(row("system", "passed", text=f"{platform.platform()}, {os.cpu_count()} cores, {memory_gib():.0f} GiB"))
    programs = {"hpcbench": [machine.hpcbench, "--version"], "hpcbench-train": [machine.trainer, "--version"]}
    for name, command in (programs | COMMANDS).items():
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=max(1, deadline_s - time.monotonic()))
            text, found = (done.stdout + done.stderr).strip(), done.returncode == 0
        except OSError as problem:
            text, found = f"there is no {command[0]}" if isinstance(problem, FileNotFoundError) else str(problem), False
        except subprocess.TimeoutExpired:
            text, found = "it took too long", False
        rows.append(row(name, "passed" if found else "not measured", **({"text": text} if found else {"why": text[-500:]})))
    told = {name: value for name, value in sorted(os.environ.items()) if name.startswith(VARIABLES)}
    rows.append(row("environment", "passed", text="\n".join(f"{name}={value}" for name, value in told.items()) or "nothing that bears on GPUs"))


def memory_gib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def start(machine, rows, deadline_s):
    """One short training of each task; of run_start every fact."""
    for name, arguments in (("mnist_rnn", [*MNIST, "--max-steps", 3]),
                            ("bert_squad", [*SQUAD, "--model", "tiny", "--max-length", 64, "--doc-stride", 16, "--max-train-examples", 48, "--max-steps", 3])):
        if time.monotonic() >= deadline_s:
            rows.append(out_of_time(name))
            continue
        begin_unix_s = time.time()
        training = machine.train(arguments, deadline_s)
        steps = training.of_kind("step")
        if training.exit_code != 0 or not steps:
            rows.append(row(name, "failed", why=training.last_words()))
            continue
        first_s, after_end_s = steps[0]["t"] - begin_unix_s, begin_unix_s + training.seconds - training.of_kind("run_end")[0]["t"]
        rows.append(row(name, "passed", first_step_s=round(first_s, 2), target_s=TARGET_FIRST_STEP_S, within_target=first_s <= TARGET_FIRST_STEP_S,
                        exit_after_end_s=round(after_end_s, 2), facts=training.facts))
    return None


