"""Prints a table of sizes as osu_latency does, of messages that nothing sends: the times are computed, the noise is drawn."""
import argparse
import random

parser = argparse.ArgumentParser(allow_abbrev=False)
parser.add_argument("--eager-limit", type=int, required=True, help="bytes up to which a message is sent without asking")
parser.add_argument("--seed", type=int, required=True)
options = parser.parse_args()
noise = random.Random(options.seed * 7919 + options.eager_limit)

print("# OSU MPI Latency Test, a stand-in")
print("# Size          Latency (us)")
for power in range(0, 23, 2):
    size = 2**power
    copies, handshake_us = (2, 0.0) if size <= options.eager_limit else (1, 3.0)
    latency_us = 1.2 + handshake_us + copies * size / 10_000
    print(f"{size:<10}{latency_us * noise.uniform(1, 1.05):18.2f}")
