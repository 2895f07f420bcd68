"""`init --command`: the study that it writes is accepted by `check`, and its runs start as many processes as its table says. Launchers are
scripts on PATH that record their arguments; a real mpirun where one is installed."""
import json
import pathlib
import re
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import StudyTest  # noqa: E402

LAUNCHERS = ("torchrun", "accelerate", "deepspeed", "mpirun", "srun", "python9")
RECORD = '#!/bin/sh\necho "LAUNCHED $(basename "$0") $* NODE_RANK=$NODE_RANK"\n'


class Init(StudyTest):
    def setUp(self):
        super().setUp()
        for name in ("train.py", "t.py"):
            self.write(name, "")

    def init(self, command):
        (self.folder / "s.yaml").unlink(missing_ok=True)
        shutil.rmtree(self.folder / "results", ignore_errors=True)
        self.hpcbench("init", "s.yaml", "--command", command)
        for profile in ((), ("--profile", "quick")):
            self.hpcbench("check", "s.yaml", *profile)
        return (self.folder / "s.yaml").read_text()

    def run_with_fakes(self, *options):
        """The arguments of each launcher that a run started, beside the run's size."""
        for name in LAUNCHERS:
            self.write(f"bin/{name}", RECORD, 0o755)
        path = f"{self.folder / 'bin'}:{self.environment()['PATH']}"
        self.hpcbench("run", "s.yaml", "--repeats", "1", *options, env={"PATH": path})
        started = []
        for run in sorted(self.folder.glob("results/s/*/r01/a1/run.json")):
            size = json.loads(run.read_text())
            for log in run.parent.glob("stdout*.log"):
                started += [(size, line[9:]) for line in log.read_text().splitlines() if line.startswith("LAUNCHED ")]
        return started

    def test_a_launcher_starts_as_many_processes_as_the_row_says(self):
        for command, pattern, key, sizes in (
                ("torchrun --nproc_per_node=2 train.py", r"torchrun --nproc_per_node=(\d+) train.py", "gpus_per_node", [1, 2]),
                ("torchrun --nproc-per-node 4 -m train --lr 3", r"torchrun --nproc-per-node (\d+) -m train --lr 3", "gpus_per_node", [1, 4]),
                ("torchrun --standalone train.py --nproc-per-node=7", r"--nproc_per_node=(\d+) --standalone train.py --nproc-per-node=7", "gpus_per_node", [1, 2]),
                ("torchrun --nproc_per_node={{procs}} train.py", r"torchrun --nproc_per_node=(\d+) train.py", "gpus_per_node", [1, 2]),
                ("python9 -m torch.distributed.run --nproc_per_node=gpu t.py", r"--nproc_per_node=(\d+) t.py", "gpus_per_node", [1, 2]),
                ("accelerate launch train.py", r"accelerate launch --num_processes=(\d+) train.py", "gpus", [1, 2]),
                ("accelerate launch --cpu --num_processes 3 train.py", r"--cpu --num_processes (\d+) train.py", "gpus", [1, 3]),
                ("deepspeed --num_gpus=2 train.py", r"deepspeed --num_gpus=(\d+) train.py", "gpus", [1, 2]),
                ("mpirun -n {{ranks}} ./a.out", r"mpirun -n (\d+) ./a.out", "ranks", [1, 2]),
                ("mpirun --bind-to core -np 4 ./a.out -n 100", r"--bind-to core -np (\d+) ./a.out -n 100", "ranks", [1, 4]),
                ("mpirun ./a.out -n 100", r"mpirun -n (\d+) ./a.out -n 100", "ranks", [1, 2]),
                ("mpirun -n {{np}} ./a.out {{np}}", r"mpirun -n (\d+) ./a.out \1", "ranks", [1, 2]),
                ("env X=1 mpirun -n4 ./a.out", r"mpirun -n (\d+) ./a.out", "ranks", [1, 4]),
                ("taskset -c 0 mpirun -n 4 ./a.out", r"mpirun -n (\d+) ./a.out", "ranks", [1, 4]),
                ("time mpirun -n 4 ./a.out", r"mpirun -n (\d+) ./a.out", "ranks", [1, 4]),
                ("nice -n 5 env -u Y X=1 mpirun -n 4 ./a.out", r"mpirun -n (\d+) ./a.out", "ranks", [1, 4]),
                ("timeout -k 5 10m stdbuf -oL mpirun -n 4 ./a.out", r"mpirun -n (\d+) ./a.out", "ranks", [1, 4]),
                ("/usr/bin/env mpirun --mca btl self -n 4 ./a.out", r"mpirun --mca btl self -n (\d+) ./a.out", "ranks", [1, 4]),
                ("mpirun --map-by ppr:4:node ./a.out", r"mpirun --map-by ppr:(\d+):node ./a.out", "ranks", [1, 4]),
                ("mpirun --map-by=ppr:4:node:PE=2 ./a.out", r"mpirun --map-by=ppr:(\d+):node:PE=2 ./a.out", "ranks", [1, 4]),
                ("mpirun -n 2 --map-by ppr:4:node ./a.out", r"mpirun -n (\d+) --map-by ppr:\1:node ./a.out", "ranks", [1, 2]),
                ("srun ./a.out", r"srun -n (\d+) ./a.out", "ranks", [1, 2]),
                ("srun -p gpu --ntasks=3 ./a.out", r"srun -p gpu --ntasks=(\d+) ./a.out", "ranks", [1, 3]),
                ("cd bin && OMP_NUM_THREADS=1 torchrun --nproc_per_node=2 'my train.py' | tee log", r"--nproc_per_node=(\d+) my train.py", "gpus_per_node", [1, 2])):
            with self.subTest(command):
                self.init(command)
                started = self.run_with_fakes()
                self.assertEqual(sorted(size[key] for size, _ in started), sizes, command)
                for size, said in started:
                    found = re.search(pattern, said)
                    self.assertTrue(found, said)
                    self.assertEqual(int(found[1]), size[key], said)

    def test_several_nodes_meet(self):
        for command in ("torchrun --nnodes=2 --nproc_per_node=2 train.py --lr 3", "torchrun --nnodes=2 --nproc_per_node=2 train.py --lr 3 | tee log"):
            text = self.init(command)
            self.assertIn("\n  nodes: [1, 2]\n  gpus_per_node: [2]\n", text)
            started = self.run_with_fakes("--simulate-nodes")
            self.assertEqual(len(started), 3)
            for size, said in started:
                self.assertRegex(said, rf"--nnodes={size['nodes']} --nproc_per_node=2 --node_rank=(\d) --master_addr=\S+ --master_port=\d+ train.py --lr 3 NODE_RANK=\1")
        text = self.init("srun -N2 -n 6 --ntasks-per-node=4 ./a.out")
        self.assertIn("ranks_per_node: [3]              # 6 processes on 2 nodes, so 3 of a node, not 4\n", text)
        self.assertNotIn("of a node, not", self.init("srun -N2 -n 8 --ntasks-per-node=4 ./a.out"))
        text = self.init("srun -N 2 -n 8 ./a.out")
        self.assertIn('["srun", "-N", "{{nodes}}", "-n", "{{ranks}}", "./a.out"]', text)
        self.assertIn("\n  nodes: [1, 2]\n  ranks_per_node: [4] ", text)
        self.assertIn("\n  nodes: [1, 2]\n  gpus_per_node: [2]\n", self.init("accelerate launch --num_machines 2 --num_processes=4 train.py"))
        self.assertIn('"torchrun", "--nnodes=1", "--nproc_per_node={{gpus_per_node}}"', self.init("torchrun --nnodes=1 --nproc_per_node=4 train.py"))

    def test_what_no_axes_can_say_stays_as_it_is(self):
        for command, why, axis, ranks in (
                ("mpirun -np 4 ./a : -np 2 ./b", "several programs", "ranks_per_node: [6] ", 6),
                ("mpirun -np 4 ./a : ./b", "several programs", "nodes: [1] ", 1),
                ("mpirun -np 4 ./a : -np 2 ./b | tee log", "several programs", "ranks_per_node: [6] ", 6),
                ("srun -n 1 ./a : -n 1 ./b", "several programs", "ranks_per_node: [2] ", 2),
                ("srun --multi-prog m.conf", "a file names the programs", "nodes: [1] ", 1),
                ("mpirun --map-by ppr:2:socket ./a", "per socket", "nodes: [1] ", 1)):
            with self.subTest(command):
                text = self.init(command)
                self.assertRegex(text, rf"\nlaunch: once +# .*{why}.* stay as they are\n")
                self.assertIn(f"\n  {axis}", text)
                self.assertEqual([(size.get("ranks", 1), said.split(" NODE_RANK")[0]) for size, said in self.run_with_fakes()],
                                 [(ranks, command.removesuffix(" | tee log"))])
        for command, axes in (("srun -N 2 -n 3 ./a", "nodes: [2]\n"), ("mpirun -n 6 --map-by ppr:4:node ./a", "nodes: [2]\n"),
                              ("srun -N 2 --ntasks-per-node=1 torchrun --nnodes 2 --nproc_per_node 4 t.py", "nodes: [2]\n  gpus_per_node: [4]\n"),
                              ("srun -N 2 bash -c 'torchrun --nproc_per_node=4 t.py'", "nodes: [2]\n")):
            text = self.init(command)
            self.assertIn("1 configuration, ", self.hpcbench("check", "s.yaml").stdout)
            self.assertIn(f"\nmatrix:                            # every combination of these is one configuration\n  {axes}", text)
            self.assertNotIn("{{ranks}}", text)
        self.assertIn("\n  nodes: [1, 2]\n  ranks_per_node: [4] ", self.init("mpirun -n 8 --map-by ppr:4:node ./a"))

    def test_gpus_that_the_command_shows_to_itself(self):
        self.write("train.py", "import os; print(os.environ['CUDA_VISIBLE_DEVICES'])\n")
        for command, gpus, seen in (("CUDA_VISIBLE_DEVICES=0,1 python3 train.py", 2, "0,1"), ("env CUDA_VISIBLE_DEVICES=3 python3 train.py", 1, "3"),
                                    ("CUDA_VISIBLE_DEVICES= python3 train.py", 0, ""), ("CUDA_VISIBLE_DEVICES='0,2,3' python3 train.py", 3, "0,2,3")):
            self.init(command)
            self.hpcbench("run", "s.yaml", "--repeats", "1")
            run, = self.folder.glob("results/s/*/r01/a1/run.json")
            if gpus:
                self.assertEqual(json.loads(run.read_text())["gpus"], gpus, command)
            else:
                self.assertNotIn("gpu", self.hpcbench("report", "s.yaml").stdout)
            self.assertEqual((run.parent / "stdout.log").read_text(), seen + "\n")
        self.assertIn("\n  ranks_per_node: [1, 2] ", self.init("CUDA_VISIBLE_DEVICES=0,1 mpirun -n 2 ./a"))
        self.assertIn("\n  gpus_per_node: [2] ", self.init("CUDA_VISIBLE_DEVICES=0,1 mpirun -n 2 ./a"))

    def test_threads_have_the_baseline(self):
        self.write("work.sh", "sleep 0.1\n")
        text = self.init("sh work.sh {{n}} {{threads}}")
        self.assertIn("\nbaseline: {threads: 1} ", text)
        self.assertIn("scale_by: cores", text)
        self.hpcbench("run", "s.yaml", "--repeats", "1")
        rows = self.report("s.yaml")["rows"]
        self.assertEqual([(row["axes"]["n"], row["axes"]["threads"]) for row in rows if row["is_baseline"]], [(1, 1), (2, 1)])
        self.assertEqual([row["scale"] for row in rows], [row["axes"]["threads"] for row in rows])
        self.assertIn("\nbaseline: {ranks_per_node: 1, threads: 1} ", self.init("mpirun -n 2 ./a {{threads}}"))

    @unittest.skipUnless(shutil.which("mpirun"), "mpirun is not installed (Debian: openmpi-bin)")
    def test_a_real_mpirun(self):
        self.write("work.sh", "echo rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE\n")
        self.init("mpirun --oversubscribe -n {{ranks}} sh work.sh")
        self.hpcbench("run", "s.yaml", "--repeats", "1", env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        runs = sorted(self.folder.glob("results/s/*/r01/a1/run.json"))
        self.assertEqual(len(runs), 2)
        self.write("work.sh", 'if [ $OMPI_COMM_WORLD_RANK = 1 ]; then echo "cannot open input.dat" >&2; exit 3; fi; sleep 1\n')
        failed = self.hpcbench("run", "s.yaml", "--repeats", "1", "--again", code=1, env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        self.assertIn("failed with exit code 3: cannot open input.dat", failed.stderr)
        for run in runs:
            ranks = json.loads(run.read_text())["ranks"]
            said = (run.parent / "stdout.log").read_text().splitlines()
            self.assertEqual(sorted(said), [f"rank {rank} of {ranks}" for rank in range(ranks)])

    def test_a_program_of_its_own_is_one_process_unless_it_asks_for_gpus(self):
        self.write("work.sh", 'echo "$RANK $*"\n')
        for command, launch, processes in (("sh work.sh {{n}}", "once", {1: 1, 2: 1}), ("sh work.sh {{gpus}}", "rank", {1: 1, 2: 2}),
                                           ("sh work.sh {{ranks}}", "rank", {1: 1, 2: 2})):
            self.assertIn(f"\nlaunch: {launch} ", self.init(command))
            self.hpcbench("run", "s.yaml", "--repeats", "1")
            for run in self.folder.glob("results/s/*/r01/a1/run.json"):
                said = (run.parent / "stdout.log").read_text().split()
                self.assertEqual(json.loads(run.read_text())["processes"], processes[int(said[-1])], command)

    def test_a_program_of_which_nothing_is_told_is_one_process_without_gpus(self):
        self.write("work.sh", 'echo "$RANK $*"\n')
        for command in ("sh work.sh", "python3 train.py", "make bench", "env OMP_NUM_THREADS=1 sh work.sh"):
            text = self.init(command)
            self.assertIn("\nlaunch: once ", text)
            self.assertNotIn("\n  gpus", text)
            self.assertIn("1 configuration, ", self.hpcbench("check", "s.yaml").stdout)
        self.init("sh work.sh")
        self.hpcbench("run", "s.yaml", "--repeats", "1")
        self.assertNotIn("gpu", self.hpcbench("report", "s.yaml").stdout)
        self.assertIn("\n  gpus_per_node: [1] ", self.init("python3 train.py --device cuda"))

    def test_threads_are_asked_for(self):
        self.write("work.sh", 'echo "threads $OMP_NUM_THREADS"\n')
        for command, key in (("OMP_NUM_THREADS={{threads}} sh work.sh", '"{{threads}}"'), ("sh work.sh {{cores}}", '"{{cores}}"'),
                             ("env OMP_NUM_THREADS=3 sh work.sh", "3"), ("srun -c 4 ./a", "4"), ("srun -c4 -n 2 ./a", "4"),
                             ("srun --cpus-per-task={{t}} ./a", '"{{t}}"'), ("mpirun --map-by slot:PE=2 -n 2 ./a", "2"),
                             ("mpirun --cpus-per-rank 2 -n 2 ./a", "2")):
            self.assertIn(f"\nresources: {{time: 30m, cpus_per_task: {key}}} ", self.init(command))
            if not command.endswith("sh") and "work.sh" not in command:
                continue
            self.hpcbench("run", "s.yaml", "--repeats", "1")
            for run in self.folder.glob("results/s/*/r01/a1/run.json"):
                size = json.loads(run.read_text())
                self.assertEqual((run.parent / "stdout.log").read_text(), f"threads {size['resources']['cpus_per_task']}\n")

    def test_strategies_have_a_baseline(self):
        text = self.init("sh work.sh --strategy {{strategy}}")
        self.assertIn("\n  strategy: [baseline, ddp] ", text)
        self.assertIn("\nbaseline: {gpus_per_node: 1, strategy: baseline} ", text)
        self.write("work.sh", "sleep 0.0$GLOBAL\n")
        self.hpcbench("run", "s.yaml", "--repeats", "1")
        self.assertEqual(len(self.report("s.yaml")["rows"]), 4)
        self.assertIn("\n  flags: [[], [-v]] ", self.init("sh work.sh {{*flags}}"))

    def test_nothing_is_written_that_check_refuses(self):
        said = self.hpcbench("init", "s.yaml", "--command", "sh work.sh {{a-b}}", code=2).stderr
        self.assertIn("no study comes of this --command", said)
        self.assertIn("`a-b` cannot be the name of an axis", said)
        self.assertFalse((self.folder / "s.yaml").exists())


if __name__ == "__main__":
    unittest.main()
