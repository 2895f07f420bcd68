"""Stands for a training program: the first two iterations warm up, every 20th is slow. The times are made up."""
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("--micro-batch", type=int)
parser.add_argument("--accumulate", type=int)
parser.add_argument("--sequence", type=int)
options = parser.parse_args()
for step in range(42):
    milliseconds = options.accumulate * (20 + 5 * options.micro_batch)
    if step < 2:
        milliseconds *= 10
    elif step % 20 == 0:
        milliseconds *= 2
    print(f"elapsed time per iteration (ms): {milliseconds:.1f}")
print(f"val_loss={2 + options.micro_batch / 10}")
