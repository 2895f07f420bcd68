"""The GPUs of this machine: what the check may use of them, and what they can do."""
import re

GPU_LINE = re.compile(r"GPU \d+: (.+) \(UUID: (\S+)\)")
INSTANCE_LINE = re.compile(r"\s+MIG (\S+)\s+Device\s+\d+: \(UUID: (\S+)\)")

# Dense bf16, 10^12 operations a second, by CUDA's name of the GPU; the first match counts. NVIDIA's data sheets often print twice as much:
# with sparsity.
PEAK_TFLOPS = [(r"\bGB200\b", 2500), (r"\bB200\b", 2250), (r"\bGH200\b", 989), (r"\bH200 NVL\b", 835), (r"\bH200\b", 989), (r"\bH100 PCIe\b", 756), (r"\bH100 NVL\b", 835),
               (r"\bH100\b", 989), (r"\bH20\b", 148), (r"\bA100\b", 312), (r"\bA30\b", 165), (r"\bA40\b", 149.7), (r"\bL40S\b", 362), (r"\bL40\b", 181), (r"\bL4\b", 121)]


def peak_of(name):
    """None of a GPU that is not listed, and of a part of one."""
    if " MIG " in name:
        return None
    return next((peak for pattern, peak in PEAK_TFLOPS if re.search(pattern, name)), None)


def visible_gpus(listing, chosen):
    """Returns the names of the GPUs that a process sees. `listing` is the output of `nvidia-smi -L`, which ignores CUDA_VISIBLE_DEVICES; `chosen` is that
    variable (None: it is not set): numbers and beginnings of UUIDs. A word that names nothing hides all later ones. Of instances (MIG) a process sees one."""
    gpus, instances = [], []
    for line in listing.splitlines():
        if found := GPU_LINE.match(line):
            gpus.append(found.groups())
        elif (found := INSTANCE_LINE.match(line)) and gpus:
            instances.append((f"{gpus[-1][0]} MIG {found[1]}", found[2]))
    if chosen is None:
        return [name for name, _ in instances[:1] or gpus]
    names = []
    for word in map(str.strip, chosen.split(",")):
        named = gpus[int(word):int(word) + 1] if word.isdigit() else [each for each in gpus + instances if word and each[1].startswith(word)]
        if len(named) != 1:
            break
        names.append(named[0][0])
        if named[0] in instances:
            return names[-1:]
    return names
