"""Records the clock and power of the GPUs during a measurement, by nvidia-smi. A throttled GPU explains a low MFU."""
import statistics
import subprocess
import tempfile

from trainer import row

FIELDS = ["clocks.sm", "power.draw", "temperature.gpu", "utilization.gpu"]
REASONS = ["sw_power_cap", "hw_slowdown", "sw_thermal_slowdown"]
BUSY_PERCENT = 50
EVERY_MS = 500


def number(cell):
    """None of `[N/A]`, `[Not Supported]`, `[Unknown Error]`, `ERR!` and the like."""
    try:
        return float(cell)
    except ValueError:
        return None


def summary(text, names):
    """Of lines of CSV without units, one a GPU and sample: medians over samples of busy GPUs, the highest temperature, and in how many of these samples a clock was held back."""
    samples = [dict(zip(names, (cell.strip() for cell in line.split(",")))) for line in text.splitlines() if line.count(",") == len(names) - 1]
    busy = [sample for sample in samples if (number(sample["utilization.gpu"]) or 0) >= BUSY_PERCENT]
    values = {"samples": len(busy)}
    for key, field, of in (("sm_clock_mhz", "clocks.sm", statistics.median), ("power_w", "power.draw", statistics.median), ("temperature_c", "temperature.gpu", max)):
        numbers = [each for each in (number(sample[field]) for sample in busy) if each is not None]
        if numbers:
            values[key] = of(numbers)
    for name in names[len(FIELDS):]:
        if held := sum(sample[name] == "Active" for sample in busy):
            values[f"held back: {name.partition('.')[2]}"] = held
    return values


class Load:
    """Context manager that samples if nvidia-smi exists."""

    def __enter__(self):
        # The names of the reasons since driver 535, and before.
        self.names, self.process = FIELDS, None
        for group in ("clocks_event_reasons", "clocks_throttle_reasons"):
            names = FIELDS + [f"{group}.{reason}" for reason in REASONS]
            try:
                asked = subprocess.run(self.command(names), capture_output=True, text=True, timeout=20)
            except (OSError, subprocess.TimeoutExpired):
                return self
            if asked.returncode == 0:
                self.names = names
                break
        self.output = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*self.command(self.names), f"--loop-ms={EVERY_MS}"], stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()

    @staticmethod
    def command(names):
        return ["nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits"]

    def row(self):
        if not self.process:
            return row("clock and power", "not measured", why="there is no nvidia-smi that answers")
        self.output.seek(0)
        values = summary(self.output.read(), self.names)
        self.output.close()
        return row("clock and power", "note", text="of GPUs that were busy", **values)
