#!/usr/bin/env python3
"""Makes the files of this folder by the tools themselves: make.py WORK_FOLDER TOOL...

Each function lets one tool write the results of one small study: `strategy` ddp, fsdp x `gpus` 1, 2 x `seed` 1, 2. The last run
(fsdp, 2 gpus, seed 2) fails after its first value. See README.md for versions; paths, hosts and users are replaced at the end.
"""
import getpass
import itertools
import json
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MS = {("ddp", 1): 100, ("ddp", 2): 55, ("fsdp", 1): 120, ("fsdp", 2): 63}
POINTS = list(itertools.product(["ddp", "fsdp"], [1, 2], [1, 2]))


def steps(strategy, gpus, seed):
    """[(step, step_ms, val_loss)], and whether the run fails after the first."""
    last = MS[strategy, gpus] + seed / 2
    values = [(0, last + 3, 2.5), (100, last + 0.25, 1.25), (200, last, 1 + seed / 100 + gpus / 1000)]
    fails = (strategy, gpus, seed) == ("fsdp", 2, 2)
    return (values[:1] if fails else values), fails


def wandb(folder):
    import wandb
    os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_DISABLE_CODE="true", WANDB_DISABLE_GIT="true")
    for strategy, gpus, seed in POINTS:
        run = wandb.init(project="scaling", dir=folder, name=f"{strategy}-{gpus}-{seed}", settings=wandb.Settings(x_disable_stats=True, x_save_requirements=False, x_disable_meta=True, host="node01", program="train.py"),
                         config={"strategy": strategy, "gpus": gpus, "seed": seed, "batch_size": 32, "optimizer": {"name": "adamw", "lr": 1e-4}})
        values, fails = steps(strategy, gpus, seed)
        for step, ms, loss in values:
            run.log({"step_ms": ms, "val/loss": loss}, step=step)
        run.finish(exit_code=1 if fails else 0)
    for path in [*folder.glob("wandb/offline-run-*/logs"), *folder.glob("wandb/offline-run-*/tmp")]:
        shutil.rmtree(path)
    for path in folder.glob("wandb/*.log"):
        path.unlink()
    for path in folder.glob("wandb/latest-run"):
        path.unlink()


def _mlflow(uri):
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "1"
    import mlflow
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("scaling")
    for strategy, gpus, seed in POINTS:
        values, fails = steps(strategy, gpus, seed)
        mlflow.start_run(run_name=f"{strategy}-{gpus}-{seed}")
        mlflow.log_params({"strategy": strategy, "gpus": gpus, "seed": seed, "batch_size": 32})
        for step, ms, loss in values:
            mlflow.log_metrics({"step_ms": ms, "val/loss": loss}, step=step)
        mlflow.end_run("FAILED" if fails else "FINISHED")


def mlflow_files(folder):
    _mlflow(f"file://{folder}/mlruns")
    for path in folder.glob("mlruns/*/*/tags/mlflow.source*"):
        path.unlink()


def _dump(folder, name):
    """A database as SQL text, which a test makes a database again: most of its bytes are empty pages."""
    with sqlite3.connect(folder / f"{name}.db") as database:
        (folder / f"{name}.sql").write_text("\n".join(database.iterdump()) + "\n")
    (folder / f"{name}.db").unlink()


def mlflow_sqlite(folder):
    _mlflow(f"sqlite:///{folder}/mlflow.db")
    _dump(folder, "mlflow")


def hydra(folder):
    (folder / "config.yaml").write_text("strategy: ddp\ngpus: 1\nseed: 1\nbatch_size: 32\noptim: {name: adamw, lr: 1.0e-4}\n")
    (folder / "train.py").write_text(f"""import sys, logging, hydra
sys.path.insert(0, {str(HERE)!r})
from make import steps
@hydra.main(version_base=None, config_path=".", config_name="config")
def main(cfg):
    values, fails = steps(cfg.strategy, cfg.gpus, cfg.seed)
    log = logging.getLogger("train")
    for step, ms, loss in values:
        log.info("step %d: step_ms=%.2f val_loss=%.4f", step, ms, loss)
    if fails:
        raise RuntimeError("CUDA error: device-side assert triggered")
    log.info("finished")
main()
""")
    subprocess.run([sys.executable, "train.py", "-m", "strategy=ddp,fsdp", "gpus=1,2", "seed=1,2"], cwd=folder, capture_output=True)
    for path in [*folder.glob("multirun/*/*/*/.hydra/hydra.yaml"), *folder.glob("*.py"), folder / "config.yaml"]:
        path.unlink()


def tensorboard(folder):
    from torch.utils.tensorboard import SummaryWriter
    for strategy, gpus, seed in POINTS:
        with SummaryWriter(folder / f"runs/{strategy}_gpus{gpus}_seed{seed}") as writer:
            for step, ms, loss in steps(strategy, gpus, seed)[0]:
                writer.add_scalar("step_ms", ms, step)
                writer.add_scalar("val/loss", loss, step)


def lightning(folder):
    import lightning
    import torch
    from lightning.pytorch.loggers import CSVLogger

    class Model(lightning.LightningModule):
        def __init__(self, strategy, gpus, seed, batch_size):
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(1, 1)
            self.values, self.fails = steps(strategy, gpus, seed)

        def training_step(self, batch, index):
            if index >= len(self.values):
                raise RuntimeError("CUDA error")
            _, ms, loss = self.values[index]
            self.log_dict({"step_ms": ms, "val_loss": loss})
            return self.layer(batch).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.0)

    for strategy, gpus, seed in POINTS:
        trainer = lightning.Trainer(max_epochs=1, logger=CSVLogger(folder), enable_checkpointing=False, enable_progress_bar=False,
                                    enable_model_summary=False, log_every_n_steps=1, accelerator="cpu")
        try:
            trainer.fit(Model(strategy, gpus, seed, 32), torch.utils.data.DataLoader(torch.ones(3, 1)))
        except RuntimeError:
            trainer.logger.save()


def huggingface(folder):
    import torch
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def forward(self, x, labels):
            out = self.layer(x)
            return {"loss": ((out - labels) ** 2).mean(), "logits": out}

    class Fail(TrainerCallback):
        def on_save(self, *_, **__):
            raise RuntimeError("CUDA error")

    data = [{"x": torch.tensor([i / 8]), "labels": torch.tensor([i / 4])} for i in range(64)]
    for size, rate, seed in itertools.product([8, 16], ["1e-2", "1e-3"], [1, 2]):
        out = folder / f"out/bs{size}_lr{rate}_seed{seed}"
        arguments = TrainingArguments(str(out), per_device_train_batch_size=size, learning_rate=float(rate), seed=seed, max_steps=4, logging_steps=2,
                                      eval_strategy="steps", eval_steps=2, save_steps=2, report_to=[], use_cpu=True, disable_tqdm=True)
        fails = (size, rate, seed) == (16, "1e-3", 2)
        trainer = Trainer(Model(), arguments, train_dataset=data, eval_dataset=data[:16], callbacks=[Fail()] if fails else None)
        try:
            trainer.train()
            trainer.save_state()
        except RuntimeError:
            pass
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "trainer_state.json":
            path.unlink()


def mllog(folder):
    from mlperf_logging import mllog
    from mlperf_logging.mllog import constants
    for strategy, gpus, seed in POINTS:
        path = folder / f"{strategy}_gpus{gpus}/result_{seed - 1}.txt"
        path.parent.mkdir(exist_ok=True)
        mllog.config(filename=str(path), root_dir=str(HERE))
        log = mllog.get_mllogger()
        clock = {"time_ms": 1_767_000_000_000}
        values, fails = steps(strategy, gpus, seed)
        log.event(constants.SUBMISSION_BENCHMARK, "bert", **clock)
        log.event(constants.GLOBAL_BATCH_SIZE, 32 * gpus, **clock)
        log.event(constants.SEED, seed, **clock)
        log.start(constants.RUN_START, **clock)
        for step, ms, loss in values:
            clock["time_ms"] += int(ms * 1000)
            log.event(constants.EVAL_ACCURACY, 1 - loss / 10, metadata={"epoch_num": step / 100 + 1}, **clock)
        log.end(constants.RUN_STOP, metadata={"status": "aborted" if fails else "success"}, **clock)
        log.logger.removeHandler(log.logger.handlers[-1])


def jube(folder):
    (folder / "bench.yaml").write_text("""name: scaling
outpath: bench_run
parameterset:
  - name: p
    parameter:
      - {name: strategy, _: "ddp,fsdp"}
      - {name: gpus, type: int, _: "1,2"}
patternset:
  name: values
  pattern:
    - {name: step_ms, type: float, unit: ms, _: "step_ms=$jube_pat_fp"}
    - {name: val_loss, type: float, _: "val_loss=$jube_pat_fp"}
step:
  name: train
  iterations: 2
  use: p
  do: PYTHON HERE/make.py --print $strategy $gpus ${jube_wp_iteration}+1
analyser:
  name: analyse
  reduce: false
  use: values
  analyse:
    step: train
    file: stdout
result:
  - use: analyse
    table:
      - name: pretty
        style: pretty
        column: [jube_wp_id, strategy, gpus, jube_wp_iteration, step_ms_last, val_loss_last, step_ms_cnt]
      - name: comma
        style: csv
        column: [jube_wp_id, strategy, gpus, jube_wp_iteration, step_ms_last, val_loss_last, step_ms_cnt]
""".replace("PYTHON", sys.executable).replace("HERE", str(HERE)))
    program = str(pathlib.Path(sys.executable).parent / "jube")
    subprocess.run([program, "run", "-e", "bench.yaml"], cwd=folder, capture_output=True)
    done = subprocess.run([program, "result", "-a", "bench_run"], cwd=folder, capture_output=True, text=True)
    print(done.stdout[-600:], done.stderr[-600:])
    for path in [*folder.glob("bench_run/*/0*_train"), *folder.glob("bench_run/*/*.log")]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def reframe(folder):
    (folder / "config.py").write_text("""site_configuration = {
    'systems': [{'name': 'box', 'hostnames': ['.*'], 'partitions': [
        {'name': 'default', 'scheduler': 'local', 'launcher': 'local', 'environs': ['builtin']}]}],
    'environments': [{'name': 'builtin'}],
}
""")
    (folder / "train.py").write_text(f"""import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import *
@rfm.simple_test
class train(rfm.RunOnlyRegressionTest):
    valid_systems = ['*']
    valid_prog_environs = ['*']
    strategy = parameter(['ddp', 'fsdp'])
    gpus = parameter([1, 2])
    seed = parameter([1, 2])
    executable = {sys.executable!r}
    @run_before('run')
    def options(self):
        self.executable_opts = [{str(HERE / "make.py")!r}, '--print', self.strategy, str(self.gpus), str(self.seed)]
    @sanity_function
    def validate(self):
        return sn.assert_found('finished', self.stdout)
    @performance_function('ms')
    def step_ms(self):
        return sn.extractsingle(r'step_ms=(\\S+)', self.stdout, 1, float, -1)
    @performance_function('1')
    def val_loss(self):
        return sn.extractsingle(r'val_loss=(\\S+)', self.stdout, 1, float, -1)
""")
    program = str(pathlib.Path(sys.executable).parent / "reframe")
    done = subprocess.run([program, "-C", "config.py", "-c", "train.py", "-r", "--exec-policy", "serial", "--perflogdir=perflogs", "--prefix=.", "--report-file=report.json"],
                          cwd=folder, capture_output=True, text=True, env={**os.environ, "RFM_SQLITE_DB_FILE": str(folder / "results.db"), "RFM_ENABLE_RESULTS_STORAGE": "1"})
    _dump(folder, "results")
    print(done.stdout[-1500:], done.stderr[-500:])
    for name in ["stage", "output", "config.py", "train.py", "__pycache__", "reframe.log", "reframe.out"]:
        shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink(missing_ok=True)


def hyperfine(folder):
    subprocess.run(["hyperfine", "--runs", "3", "--warmup", "1", "-i", "-L", "n", "1,2", "-L", "kind", "a,b", "--export-json", "hyperfine.json", "--export-csv", "hyperfine.csv",
                    "sleep 0.0{n}; test {kind}{n} != b2"], cwd=folder, capture_output=True)


def google_benchmark(folder):
    (folder / "b.cpp").write_text("""#include <benchmark/benchmark.h>
#include <algorithm>
#include <vector>
static void BM_sort(benchmark::State& state) {
  if (state.range(0) == 4096 && state.range(1) == 7) { state.SkipWithError("no memory"); return; }
  for (auto _ : state) { std::vector<int> v(state.range(0)); for (auto& x : v) x = rand() % state.range(1); std::sort(v.begin(), v.end()); benchmark::DoNotOptimize(v.data()); }
  state.counters["bytes"] = state.range(0) * 4;
}
static void BM_copy(benchmark::State& state) {
  std::vector<char> a(state.range(0)), b(state.range(0));
  for (auto _ : state) { std::copy(a.begin(), a.end(), b.begin()); benchmark::DoNotOptimize(b.data()); }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_sort)->ArgNames({"n", "kinds"})->ArgsProduct({{64, 4096}, {3, 7}})->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_copy)->Arg(1024)->Arg(65536);
BENCHMARK_MAIN();
""")
    subprocess.run(["g++", "-O2", "b.cpp", "-o", "b", "-lbenchmark", "-lpthread"], cwd=folder, check=True)
    subprocess.run(["./b", "--benchmark_repetitions=2", "--benchmark_min_time=0.01", "--benchmark_out=gbench.json", "--benchmark_out_format=json"], cwd=folder, capture_output=True)
    subprocess.run(["./b", "--benchmark_repetitions=2", "--benchmark_min_time=0.01", "--benchmark_out=gbench.csv", "--benchmark_out_format=csv"], cwd=folder, capture_output=True)
    (folder / "b").unlink()
    (folder / "b.cpp").unlink()


def pytest_benchmark(folder):
    (folder / "test_fft.py").write_text("""import math, pytest
@pytest.mark.parametrize("n", [16, 256])
@pytest.mark.parametrize("kind", ["sin", "cos"])
def test_fft(benchmark, n, kind):
    f = getattr(math, kind)
    benchmark.pedantic(lambda: [f(i) for i in range(n)], rounds=5, iterations=10)
""")
    subprocess.run([sys.executable, "-m", "pytest", "-q", "--benchmark-json=pytest.json", "--benchmark-save-data"], cwd=folder, capture_output=True)
    for name in ["test_fft.py", "__pycache__", ".pytest_cache", ".benchmarks"]:
        shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink(missing_ok=True)


def ramble(folder):
    """RAMBLE names a checkout of Ramble."""
    program = os.environ["RAMBLE"] + "/bin/ramble"
    environment = {**os.environ, "HOME": str(folder), "PATH": os.path.dirname(sys.executable) + ":" + os.environ["PATH"]}

    def call(*arguments):
        done = subprocess.run([program, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
        print(done.stdout[-300:], done.stderr[-600:])
    call("repo", "create", "-t", "applications", "apps", "own")
    call("repo", "add", "-t", "applications", "apps")
    (folder / "apps/applications/train").mkdir(parents=True)
    (folder / "apps/applications/train/application.py").write_text(f"""from ramble.appkit import *


class Train(ExecutableApplication):
    name = "train"
    executable("train", "{sys.executable} {HERE}/make.py --print {{strategy}} {{gpus}} {{seed}}", use_mpi=False)
    workload("standard", executable="train")
    workload_variable("strategy", default="ddp", description="how ranks share the work", workloads=["standard"])
    workload_variable("gpus", default="1", description="number", workloads=["standard"])
    workload_variable("seed", default="1", description="of the run", workloads=["standard"])
    log = "{{experiment_run_dir}}/{{experiment_name}}.out"
    figure_of_merit("step", log_file=log, fom_regex=r"step_ms=(?P<ms>\\S+)", group_name="ms", units="ms")
    figure_of_merit("val_loss", log_file=log, fom_regex=r".*val_loss=(?P<loss>\\S+)", group_name="loss", units="")
    success_criteria("end", mode="string", match=r"finished", file=log)
""")
    call("workspace", "create", "-d", "ws")
    (folder / "ws/configs/ramble.yaml").write_text("""ramble:
  variables:
    mpi_command: ''
    batch_submit: '{execute_experiment}'
    processes_per_node: 1
    n_ranks: 1
  applications:
    train:
      workloads:
        standard:
          experiments:
            '{strategy}_{gpus}_{seed}':
              variables:
                strategy: [ddp, fsdp]
                gpus: [1, 2]
                seed: [1, 2]
              matrix: [strategy, gpus, seed]
""")
    (folder / "ws/configs/execute_experiment.tpl").write_text("#!/bin/sh\ncd {experiment_run_dir}\n{command}\n")
    call("-D", "ws", "workspace", "setup")
    call("-D", "ws", "on")
    call("-D", "ws", "workspace", "analyze", "--formats", "json", "text")
    for path in list(folder.iterdir()):
        if path.name == "ws":
            shutil.copy(path / "results.latest.json", folder / "results.latest.json")
        if path.is_dir():
            shutil.rmtree(path)


# The forms of tools that need GPUs or a service, written after their sources and documentation.

def wandb_export(folder):
    """The CSV of a project's table of runs."""
    lines = ['"Name","State","Notes","User","Tags","Created","Runtime","Sweep","batch_size","gpus","optimizer.lr","optimizer.name","seed","strategy","_runtime","_step","_timestamp","step_ms","val/loss"']
    for index, (strategy, gpus, seed) in enumerate(POINTS):
        values, fails = steps(strategy, gpus, seed)
        step, ms, loss = values[-1]
        cells = [f"{strategy}-{gpus}-{seed}", "failed" if fails else "finished", "-", "user", "", f"2026-01-0{index + 1}T08:00:00.000Z", round(ms * 3), "",
                 32, gpus, 0.0001, "adamw", seed, strategy, ms * 3.01, step, 1767000000.5 + index, ms, loss]
        lines.append(",".join(f'"{cell}"' for cell in cells))
    (folder / "wandb_export.csv").write_text("\n".join(lines) + "\n")


def vllm(folder):
    """`vllm bench serve --save-result`, a file a run; the last server died."""
    for (label, latency), limit, seed in itertools.product([("fp16", 20.0), ("fp8", 14.0)], [8, 32], [1, 2]):
        fails = (label, limit, seed) == ("fp8", 32, 2)
        scale = latency * (1 + limit / 32) + seed / 10
        result = {"date": f"20260101-08000{seed}", "endpoint_type": "openai", "backend": "openai", "label": label, "model_id": "facebook/opt-125m", "tokenizer_id": "facebook/opt-125m",
                  "num_prompts": 100, "request_rate": "inf", "burstiness": 1.0, "max_concurrency": limit, "duration": scale, "completed": 0 if fails else 100, "failed": 100 if fails else 0,
                  "total_input_tokens": 0 if fails else 12800, "total_output_tokens": 0 if fails else 6400, "request_throughput": 0 if fails else 100 / scale, "request_goodput": None,
                  "output_throughput": 0 if fails else 6400 / scale, "total_token_throughput": 0 if fails else 19200 / scale, "max_output_tokens_per_s": 900.0, "max_concurrent_requests": limit + 2}
        for name, share in [("ttft", 1.0), ("tpot", 0.2), ("itl", 0.19)]:
            for kind, factor in [("mean", 1.1), ("median", 1.0), ("std", 0.3), ("p99", 2.5)]:
                result[f"{kind}_{name}_ms"] = 0.0 if fails else round(scale * share * factor, 4)
        (folder / f"{label}-infqps-concurrency{limit}-opt-125m-20260101-08000{seed}.json").write_text(json.dumps(result))


def nccl_tests(folder):
    """`all_reduce_perf -J FILE`, a file a call. One size of one call has wrong elements."""
    for gpus, call in itertools.product([2, 4], [1, 2]):
        results = []
        for size in (1 << 20, 1 << 24):
            us = size / 1e5 * (1 + gpus / 10) + 20 + call
            wrong = 12 if (gpus, call, size) == (4, 2, 1 << 24) else 0
            body = {"time": us, "alg_bw": size / us / 1e3, "bus_bw": size / us / 1e3 * 2 * (gpus - 1) / gpus, "nwrong": float(wrong)}
            results.append({"size": size, "count": size // 4, "type": "float", "redop": "sum", "root": "    -1", "out_of_place": body,
                            "in_place": {**body, "time": us - 1}, "actual_iterations": 20, "experiment_name": "AllReduce"})
        (folder / f"all_reduce_{gpus}_{call}.json").write_text(json.dumps({
            "version": 1, "start_time": "2026-01-01 08:00:00", "args": ["./build/all_reduce_perf", "-b", "1M", "-e", "16M", "-f", "16", "-g", str(gpus), "-J", f"all_reduce_{gpus}_{call}.json"],
            "env": ["PATH=/usr/bin"], "nccl_version": 22809,
            "config": {"nthreads": 1, "ngpus": gpus, "minimum_bytes": 1 << 20, "maximum_bytes": 1 << 24, "step_factor": 16, "warmup_iters": 1, "iterations": 20, "aggregated_iterations": 1,
                       "validation": 1, "graph": 0, "blocking_collectives": "false", "parallel_init": "false",
                       "devices": [{"rank": 0, "group": 0, "pid": 1, "hostname": "node01", "device": 0, "device_hex": "0000:1b:00", "device_info": "NVIDIA H100 80GB HBM3"}]},
            "results": results, "out_of_bounds": {"count": 0, "okay": "true"}, "average_bus_bandwidth": {"bandwidth": 12.5, "okay": "unchecked"}, "errors": [],
            "end_time": "2026-01-01 08:00:05"}, indent=1))


def nvbench(folder):
    """`--json FILE` of a program with one benchmark; one state is skipped."""
    def value(name, kind, text):
        return {"name": name, "type": kind, "value": str(text)}

    states = []
    for block, elements in itertools.product([64, 256], [1 << 20, 1 << 24]):
        state = {"name": f"Device=0 BlockSize={block} Elements=2^{elements.bit_length() - 1}", "min_samples": 10, "device": 0, "type_config_index": 0,
                 "axis_values": [value("BlockSize", "int64", block), value("Elements", "int64", elements)], "summaries": [], "is_skipped": False}
        if (block, elements) == (256, 1 << 24):
            state.update(summaries=None, is_skipped=True, skip_reason="Insufficient device memory.")
        else:
            seconds = elements / 1e11 * (1 + 8 / block)
            for tag, name, hint, number in [("nv/cold/sample_size", "Samples", "sample_size", 512), ("nv/cold/time/cpu/mean", "CPU Time", "duration", seconds + 5e-6),
                                            ("nv/cold/time/gpu/mean", "GPU Time", "duration", seconds), ("nv/cold/time/gpu/stdev/relative", "Noise", "percentage", 0.01),
                                            ("nv/cold/bw/global/bytes_per_second", "GlobalMem BW", "byte_rate", elements * 8 / seconds)]:
                kind = "int64" if isinstance(number, int) else "float64"
                state["summaries"].append({"tag": tag, "name": name, "hint": hint, "data": [value("value", kind, number)]})
        states.append(state)
    (folder / "copy.json").write_text(json.dumps({
        "meta": {"argv": ["./copy", "--json", "copy.json"], "version": {"json": {"major": 1, "minor": 0, "patch": 0, "string": "1.0.0"}, "nvbench": {"string": "0.1.0"}}},
        "devices": [{"id": 0, "name": "NVIDIA H200", "sm_version": 900}],
        "benchmarks": [{"name": "copy", "index": 0, "min_samples": 10, "devices": [0],
                        "axes": [{"name": name, "type": "int64", "flags": "", "values": [{"input_string": str(x), "description": "", "value": x} for x in numbers]}
                                 for name, numbers in [("BlockSize", [64, 256]), ("Elements", [1 << 20, 1 << 24])]], "states": states}]}, indent=1))


def clean(folder, work):
    """Replaces paths, users and hosts."""
    words = {str(folder): "/home/user/study", str(work): "/home/user", str(HERE): "/home/user/lib", sys.prefix: "/usr", os.getcwd(): "/home/user", f"'{getpass.getuser()}'": "'user'", socket.gethostname(): "node01"}
    for path in folder.rglob("*"):
        if path.name in {".db.lock"}:
            path.unlink()
        elif path.is_file() and path.suffix not in {".wandb", ".db"} and "tfevents" not in path.name:
            text = path.read_text()
            for word, new in words.items():
                text = text.replace(word, new)
            user = getpass.getuser()
            text = re.sub(rf'(user(?:_id|name)?["\']?[:=|]\s*["\']?){user}\b', r"\1user", text, flags=re.I)
            path.write_text(text)
    for path in folder.rglob("*tfevents*"):
        path.rename(path.with_name(path.name.replace(socket.gethostname(), "node01")))


def program(strategy, gpus, seed):
    """The program that runners start."""
    values, fails = steps(strategy, int(gpus), sum(map(int, seed.split("+"))))
    for _, ms, loss in values:
        print(f"step_ms={ms} val_loss={loss}")
    print("CUDA error" if fails else "finished")


def main():
    if sys.argv[1] == "--print":
        program(*sys.argv[2:])
        return
    work = pathlib.Path(sys.argv[1]).resolve()
    for tool in sys.argv[2:]:
        folder = work / tool
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        globals()[tool](folder)
        clean(folder, work)


if __name__ == "__main__":
    main()
