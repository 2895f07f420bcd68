"""Heat in a rod, cut into one piece for each rank of MPI: neighbours exchange the ends of their pieces in each step. Rank 0
prints how long the steps took and how much heat there is in the end."""
import argparse
import time

from mpi4py import MPI

parser = argparse.ArgumentParser()
parser.add_argument("--cells", type=int, required=True)
parser.add_argument("--steps", type=int, required=True)
arguments = parser.parse_args()

world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
mine = arguments.cells // ranks + (1 if rank < arguments.cells % ranks else 0)
left = rank - 1 if rank > 0 else MPI.PROC_NULL
right = rank + 1 if rank + 1 < ranks else MPI.PROC_NULL
heat = [0.0] * (mine + 2)   # with the neighbours' ends
heat[1] = 1.0 if rank == 0 else 0.0

world.Barrier()
begin = time.perf_counter()
for _ in range(arguments.steps):
    before = world.sendrecv(heat[mine], dest=right, source=left)
    after = world.sendrecv(heat[1], dest=left, source=right)
    heat[0] = heat[1] if before is None else before    # nothing leaves the rod
    heat[mine + 1] = heat[mine] if after is None else after
    heat = [0.0] + [heat[i] + 0.25 * (heat[i - 1] - 2 * heat[i] + heat[i + 1]) for i in range(1, mine + 1)] + [0.0]
world.Barrier()
loop_s = time.perf_counter() - begin
total = world.reduce(sum(heat[1:-1]))
if rank == 0:
    print(f"{ranks} ranks, main loop: {loop_s:.6f} s, heat: {total:.9f}", flush=True)
