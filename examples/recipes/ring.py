"""Sends messages of growing size around a ring of MPI's ranks and prints what rank 0 measures."""
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.Get_rank(), world.Get_size()
for size in (1, 1024, 1048576):
    message = bytearray(size)
    world.Barrier()
    begin = time.perf_counter()
    for _ in range(20):
        if rank == 0:
            world.Send(message, (rank + 1) % ranks)
            world.Recv(message, (rank - 1) % ranks)
        else:
            world.Recv(message, (rank - 1) % ranks)
            world.Send(message, (rank + 1) % ranks)
    if rank == 0:
        print(f"size {size} of {ranks} ranks: {(time.perf_counter() - begin) / 20 / ranks * 1e6:.2f} us", flush=True)
