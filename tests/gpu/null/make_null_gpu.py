#!/usr/bin/env python3
"""Makes a null GPU: the real CUDA build of LibTorch beside libraries that only count.

    tests/gpu/null/make_null_gpu.py FOLDER [--wheels DIR] [--torch VERSION]

FOLDER/site becomes what `pip install torch` and the headers that it leaves out would make of a site-packages: torch/, and nvidia/ with
CUDA's real headers. NVIDIA's libraries are replaced by stubs, made from the symbols that LibTorch requires, with their version nodes:
memory is the host's, kernels do nothing, calls are counted (null_gpu.hpp explains how to request counts, sizes and faults). Wheels (1.8 GB)
are kept in --wheels (default: $HPCBENCH_WHEELS, else FOLDER/wheels). Exit code 77: they are unavailable here.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
# Binaries that need NVIDIA's libraries.
ASKING = ["libc10_cuda.so", "libtorch_cuda.so", "libtorch_cuda_linalg.so", "libcaffe2_nvrtc.so", "libtorch_nvshmem.so"]
# Beginnings of symbols of each library, without its number; the longest one counts.
PREFIXES = {"cudart": ("cuda", "__cuda"), "cublas": ("cublas",), "cublasLt": ("cublasLt",), "cudnn": ("cudnn",), "cusparse": ("cusparse",),
            "cusparseLt": ("cusparseLt",), "cufft": ("cufft",), "cufile": ("cuFile",), "nccl": ("nccl",), "curand": ("curand",),
            "nvrtc": ("nvrtc",), "nvshmem_host": ("nvshmem",), "cusolver": ("cusolver",), "cuda": ("cu",)}
# Sources that are not generated, and their definitions.
SOURCES = {"cudart": (["cudart.cpp", "cudart_streams.cpp", "cudart_errors.cpp"], ""), "cuda": (["driver.cpp"], ""), "nccl": (["nccl.cpp"], ""),
           "cublasLt": (["libraries.cpp"], "NULL_GPU_CUBLASLT"), "cudnn": (["libraries.cpp"], "NULL_GPU_CUDNN")}
# Packages whose headers a build needs, in the versions that torch's own packages require.
TOOLKIT_PARTS = ["nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-cccl", "nvidia-cublas", "nvidia-cusparse", "nvidia-cusolver"]
# Counted as launches beside kernels: one product each.
PRODUCTS = re.compile(r"^cublas\w*(Gemm|gemm|gemv)\w*$|^cudnnRNN(Forward|Backward)")
SET_STREAM = re.compile(r"^(cublasSetStream_v2|cudnnSetStream)$")
# Calls that a capturing stream may forbid (capture.hpp): these allocate, or wait for the GPU. Explicit functions of a library check it
# themselves.
UNSAFE = re.compile(r"^(cublas|cudnn|cusolverDn|cusparse)Create(_v2)?$|^cuModule(Load\w*|Unload)$|^cudaLibrary(LoadData|Unload)$|^cudaHost(Unr|R)egister$")


def skip(reason):
    print(f"skipped: {reason}", file=sys.stderr)
    sys.exit(77)


def wheel(folder, requirement):
    """The wheel of `name==version`, downloaded if it is not in the folder."""
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '_')}-{version.rstrip('=.*')}".replace("=", "")
    found = sorted(path for path in folder.glob("*.whl") if path.name.startswith(pattern) and "+cpu" not in path.name)
    if not found:
        said = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", folder, requirement],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if said.returncode:
            skip(f"the package {requirement} cannot be downloaded: {said.stderr.strip().splitlines()[-1:]}")
        found = sorted(path for path in folder.glob("*.whl") if path.name.startswith(pattern) and "+cpu" not in path.name)
    return found[-1]


def unpack(path, into, wanted):
    with zipfile.ZipFile(path) as archive:
        archive.extractall(into, [name for name in archive.namelist() if wanted(name)])


def pins(path):
    """Returns name -> version of a wheel's requirements: `name==version`, for every extra."""
    with zipfile.ZipFile(path) as archive:
        text = archive.read(next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))).decode()
    return dict(re.findall(r"^Requires-Dist: ([\w-]+)(?:\[[^]]*\])?==([\w.]+?)(?:\.\*)?[ ;]", text, re.M))


def prepare_site(site, wheels, version):
    torch = wheel(wheels, f"torch==={version}")
    marker = site / "complete"
    if marker.exists() and marker.read_text() == torch.name:
        return
    asked = pins(torch)
    parts = pins(wheel(wheels, f"cuda-toolkit=={asked['cuda-toolkit']}"))
    headers = [f"{name}=={parts[name]}" for name in TOOLKIT_PARTS]
    headers += [f"{name}=={number}" for name, number in asked.items() if name.startswith("nvidia-nccl")]
    for requirement in headers:
        unpack(wheel(wheels, requirement), site, lambda name: "/include/" in name)
    unpack(torch, site, lambda name: name.startswith(("torch/include/", "torch/lib/lib")))
    marker.write_text(torch.name)


def needed_libraries(torch_lib):
    """cudart -> libcudart.so.13, as LibTorch's libraries name them."""
    names = {}
    for library in ASKING:
        text = subprocess.check_output(["readelf", "-d", torch_lib / library], text=True)
        for name in re.findall(r"NEEDED.*\[(lib(\w+)\.so[.\d]*)\]", text):
            if name[1] in PREFIXES:
                names[name[1]] = name[0]
    return names


def undefined_symbols(torch_lib):
    """library -> {symbol: its version node or ""}"""
    by_prefix = sorted(((prefix, library) for library, prefixes in PREFIXES.items() for prefix in prefixes), key=lambda each: -len(each[0]))
    symbols = collections.defaultdict(dict)
    for asking in ASKING:
        for line in subprocess.check_output(["nm", "-D", "--undefined-only", torch_lib / asking], text=True).splitlines():
            name, _, node = line.split()[-1].partition("@")
            owner = next((library for prefix, library in by_prefix if re.match(prefix + "[A-Z_a-z]", name)), None)
            if owner == "cuda" and not re.match("cu[A-Z]", name):
                owner = None
            if owner:
                symbols[owner][name] = node.lstrip("@")
    return symbols


def stub(name):
    """A function that counts; one that makes a handle gives memory, one that ends it takes it back."""
    refusal = "if (const long refused = null_gpu_unsafe()) return refused; " if UNSAFE.match(name) else ""
    if re.search(r"(Get|get)\w*String$|get_error|Name$", name):
        return f'const char* {name}() {{ return "an error of the null GPU"; }}'
    if re.search(r"Create(_v2)?$|^cudnnCreate|DescCreate|LayoutCreate|PreferenceCreate", name) and not name.startswith("nvrtc"):
        return f'long {name}(void** handle) {{ {refusal}*handle = std::calloc(1, 4096); return null_gpu_call("{name}"); }}'
    if re.search(r"^cublasLt\w*Destroy$|^cudnnDestroy", name):
        return f'long {name}(void* handle) {{ std::free(handle); return null_gpu_call("{name}"); }}'
    if PRODUCTS.match(name):
        return f'long {name}(void* handle) {{ if (const long refused = null_gpu_product(handle)) return refused; return null_gpu_call("{name}"); }}'
    if SET_STREAM.match(name):
        return f'long {name}(void* handle, void* stream) {{ null_gpu_set_stream(handle, stream); return null_gpu_call("{name}"); }}'
    return f'long {name}() {{ {refusal}return null_gpu_call("{name}"); }}'


def gpp(*words):
    subprocess.run(["g++", "-std=c++20", "-O1", "-w", "-fPIC", f"-I{HERE}", *words], check=True)


def by_hand(library, work, site):
    """Returns the object files of a library's explicit sources, and their functions; none without such sources."""
    sources, definition = SOURCES.get(library, ([], ""))
    include = site / "nvidia/cu13/include"
    outputs = [work / f"{library}_{pathlib.Path(source).stem}_by_hand.o" for source in sources]
    for source, output in zip(sources, outputs):
        gpp("-c", HERE / source, "-o", output, *([f"-D{definition}"] if definition else []), f"-I{include}", f"-I{include}/cccl",
            f"-I{site}/nvidia/nccl/include")
    text = subprocess.check_output(["nm", "--defined-only", *outputs], text=True) if outputs else ""
    return outputs, set(re.findall(r" T ((?!_Z)\w+)$", text, re.M))


def version_script(symbols, own, soname):
    nodes = collections.defaultdict(list)
    for name, node in symbols.items():
        nodes[node].append(name)
    # The trainer itself needs more than LibTorch does.
    nodes[soname if soname in nodes else ""] += sorted(own - set(symbols))
    return "".join(f"{node} {{ global: {'; '.join(names)}; }};\n" for node, names in nodes.items() if node)


def make_stubs(site):
    torch_lib, into, work = site / "torch/lib", site / "nvidia/cu13/lib", site.parent / "stubs"
    into.mkdir(parents=True, exist_ok=True)
    work.mkdir(exist_ok=True)
    gpp("-shared", HERE / "null_gpu.cpp", HERE / "limits.cpp", HERE / "capture.cpp", "-o", into / "libnullgpu.so")
    symbols = undefined_symbols(torch_lib)
    for library, soname in needed_libraries(torch_lib).items():
        hand, own = by_hand(library, work, site)
        source, script = work / f"{library}.cpp", work / f"{library}.map"
        source.write_text('#include <cstdlib>\n#include "capture.hpp"\n#include "null_gpu.hpp"\nextern "C" {\n'
                          + "\n".join(stub(name) for name in sorted(set(symbols[library]) - own)) + "\n}\n")
        script.write_text(version_script(symbols[library], own, soname))
        flags = [f"-Wl,--version-script={script}"] if script.stat().st_size else []
        gpp("-shared", source, *hand, "-o", into / soname, f"-Wl,-soname,{soname}", f"-L{into}", "-lnullgpu",
            "-Wl,-rpath,$ORIGIN", *flags)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--wheels", type=pathlib.Path, default=os.environ.get("HPCBENCH_WHEELS"))
    parser.add_argument("--torch", default="2.13.0")
    arguments = parser.parse_args()
    site = arguments.folder.resolve() / "site"
    wheels = pathlib.Path(arguments.wheels or arguments.folder / "wheels").resolve()
    for folder in (site, wheels):
        folder.mkdir(parents=True, exist_ok=True)
    prepare_site(site, wheels, arguments.torch)
    make_stubs(site)
    print(site)


main()
