"""The null GPU's libcudart and libcuda by CUDA's own names: what they ask of a capture (tests/gpu/null_capture_test.py has the rules), errors and faults.

Compiled with CUDA's headers, where tests/gpu/null/make_null_gpu.py has put all of them.
"""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NULL = ROOT / "tests/gpu/null"
INCLUDES = [ROOT / f"build/{name}/site/nvidia/cu13/include" for name in ("cuda-headers", "null-gpu")]
SOURCES = ["null_gpu", "limits", "capture", "cudart", "cudart_streams", "cudart_errors", "driver"]
NON_BLOCKING, GLOBAL, RELAXED, EXTERNAL = 1, 0, 2, 1
NOT_SUPPORTED, UNSUPPORTED, FAILED_BEFORE, ISOLATION, IMPLICIT, CAPTURED_EVENT = 801, 900, 901, 905, 906, 907
BYTES = 8


def setUpModule():
    global LIBRARY
    include = next((path for path in INCLUDES if (path / "cuda_runtime_api.h").exists() and (path / "crt/host_defines.h").exists()), None)
    if not include:
        raise unittest.SkipTest("CUDA's headers are not all there: tests/gpu/null/make_null_gpu.py fetches them")
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    LIBRARY = pathlib.Path(folder.name, "libnull.so")
    subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", "-w", f"-I{NULL}", f"-I{include}", f"-I{include}/cccl",
                    *(NULL / f"{name}.cpp" for name in SOURCES), "-o", LIBRARY], check=True)


class Dim3(ctypes.Structure):
    _fields_ = [(axis, ctypes.c_uint) for axis in "xyz"]


class Calls:
    """CUDA's functions, as attributes. Whole numbers are passed with 64 bits, as handles require."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        self.library.cudaGetErrorName.restype = self.library.cudaGetErrorString.restype = ctypes.c_char_p

    def __getattr__(self, name):
        function = getattr(self.library, name)
        return lambda *words: function(*(ctypes.c_void_p(word) if isinstance(word, int) else word for word in words))

    def made(self, name, *words):
        handle = ctypes.c_void_p()
        if error := getattr(self, name)(ctypes.byref(handle), *words):
            raise AssertionError(f"{name}: {error}")
        return handle.value


class Cudart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cuda = Calls(LIBRARY)
        cls.stream, cls.other = (cls.cuda.made("cudaStreamCreateWithFlags", NON_BLOCKING) for _ in range(2))
        cls.event = cls.cuda.made("cudaEventCreate")
        cls.device, cls.more = (cls.cuda.made("cudaMalloc", BYTES) for _ in range(2))
        cls.pinned = cls.cuda.made("cudaHostAlloc", BYTES, 0)
        cls.pageable = ctypes.create_string_buffer(BYTES)

    def end(self):
        graph = ctypes.c_void_p()
        return self.cuda.cudaStreamEndCapture(self.stream, ctypes.byref(graph)), graph.value

    def begin(self, mode=GLOBAL):
        self.assertEqual(self.cuda.cudaStreamBeginCapture(self.stream, mode), 0)
        self.addCleanup(self.end)

    def test_each_call_is_asked_of_the_capture(self):
        cuda, pageable, number = self.cuda, ctypes.addressof(self.pageable), ctypes.c_void_p()
        made = ctypes.byref(number)
        cases = {
            "cudaMalloc": (UNSUPPORTED, made, BYTES), "cudaFree": (UNSUPPORTED, self.device), "cudaHostAlloc": (UNSUPPORTED, made, BYTES, 0),
            "cudaFreeHost": (UNSUPPORTED, self.pinned), "cudaMemcpy": (UNSUPPORTED, self.device, self.pinned, BYTES, 1),
            "cudaMemset": (UNSUPPORTED, self.device, 0, BYTES), "cudaMemcpyAsync": (UNSUPPORTED, self.device, pageable, BYTES, 1, self.stream),
            "cudaStreamQuery": (UNSUPPORTED, self.stream), "cudaStreamSynchronize": (UNSUPPORTED, self.stream), "cudaDeviceSynchronize": (UNSUPPORTED,),
            "cudaEventQuery": (UNSUPPORTED, self.event), "cudaEventSynchronize": (UNSUPPORTED, self.event),
            "cudaStreamWaitEvent": (ISOLATION, self.stream, self.event, 0), "cudaEventRecord": (IMPLICIT, self.event, None),
            "cudaMemsetAsync": (IMPLICIT, self.device, 0, BYTES, None), "cudaLaunchKernelExC": (IMPLICIT, bytes(64), self.device, None),
            "cudaLaunchKernel": (IMPLICIT, self.device, Dim3(), Dim3(), None, 0, None), "cuLaunchKernel": (IMPLICIT, *([0] * 11)),
        }
        for name, (error, *words) in cases.items():
            with self.subTest(name):
                self.begin()
                self.assertEqual(getattr(cuda, name)(*words), error)
                self.assertEqual(cuda.cudaGetLastError(), 0 if name == "cuLaunchKernel" else error)  # the driver keeps none
                self.assertEqual(self.end(), (FAILED_BEFORE, None))
                self.assertEqual([cuda.cudaGetLastError(), cuda.cudaGetLastError()], [FAILED_BEFORE, 0])
        self.assertEqual(cuda.cudaMemcpy(self.device, pageable, BYTES, 1), 0)  # both it and the memory still exist

    def test_pageable_memory_either_way(self):
        for words in ((self.device, ctypes.addressof(self.pageable), BYTES, 1), (ctypes.addressof(self.pageable), self.device, BYTES, 2)):
            self.begin()
            self.assertEqual(self.cuda.cudaMemcpyAsync(*words, self.stream), UNSUPPORTED)
            self.end()

    def test_an_event_of_the_capture_has_no_time(self):
        self.begin(RELAXED)
        self.assertEqual(self.cuda.cudaEventRecord(self.event, self.stream), 0)
        self.assertEqual(self.cuda.cudaEventElapsedTime(ctypes.byref(ctypes.c_float()), self.event, self.event), CAPTURED_EVENT)
        self.end()
        self.assertEqual(self.cuda.cudaEventRecord(self.event, self.stream), 0)

    def test_an_event_is_of_no_capture_when_it_is_new(self):
        # So many that some reuse the address of a freed one.
        events = [self.cuda.made("cudaEventCreate") for _ in range(32)]
        self.begin()
        self.assertEqual({self.cuda.cudaEventRecord(event, self.stream) for event in events}, {0})
        self.end()
        self.assertEqual({(self.cuda.cudaEventQuery(event), self.cuda.cudaEventDestroy(event)) for event in events}, {(CAPTURED_EVENT, 0)})
        anew = [self.cuda.made("cudaEventCreate") for _ in range(32)]
        self.assertTrue(set(anew) & set(events))
        self.assertEqual({self.cuda.cudaEventQuery(event) for event in anew}, {0})

    def test_the_legacy_stream_waits_for_one_that_is_made_so(self):
        status = ctypes.byref(ctypes.c_int())
        for make in (("cudaStreamCreate",), ("cudaStreamCreateWithFlags", 0), ("cudaStreamCreateWithPriority", 0, 0)):
            stream, graph = self.cuda.made(*make), ctypes.c_void_p()
            self.assertEqual(self.cuda.cudaStreamBeginCapture(stream, RELAXED), 0)
            self.assertEqual([self.cuda.cudaStreamIsCapturing(None, status), self.cuda.cudaStreamEndCapture(stream, ctypes.byref(graph))], [IMPLICIT, 0])

    def test_a_thread_that_is_relaxed_may_ask_for_memory(self):
        mode = ctypes.c_int(RELAXED)
        self.begin()
        self.assertEqual([self.cuda.cudaThreadExchangeStreamCaptureMode(ctypes.byref(mode)), mode.value], [0, GLOBAL])
        block = self.cuda.made("cudaMalloc", BYTES)
        self.assertEqual(self.cuda.cudaFree(block), 0)
        self.assertEqual([self.cuda.cudaThreadExchangeStreamCaptureMode(ctypes.byref(mode)), mode.value], [0, RELAXED])
        self.assertEqual(self.end()[0], 0)

    def test_what_is_recorded_is_done_by_launches(self):
        cuda, status, number, count = self.cuda, ctypes.c_int(), ctypes.c_ulonglong(), ctypes.c_size_t()
        data = (ctypes.c_char * BYTES).from_address(self.pinned)
        data.raw = b"captured"
        self.assertEqual(cuda.cudaMemset(self.more, ord("-"), BYTES), 0)
        self.begin()
        self.assertEqual(cuda.cudaStreamGetCaptureInfo(self.stream, ctypes.byref(status), ctypes.byref(number), None, None, None, None), 0)
        self.assertEqual((status.value, number.value > 0), (1, True))
        self.assertEqual([cuda.cudaStreamIsCapturing(None, ctypes.byref(status)), status.value], [0, 0])
        self.assertEqual([cuda.cudaMemcpyAsync(self.device, self.pinned, BYTES, 1, self.stream), cuda.cudaMemcpyAsync(self.more, self.device, 4, 3, self.stream)], [0, 0])
        self.assertEqual([cuda.cudaLaunchKernel(self.device, Dim3(), Dim3(), None, 0, self.stream), cuda.cuLaunchKernel(*([0] * 8), self.stream, 0, 0)], [0, 0])
        error, graph = self.end()
        self.assertEqual([error, cuda.cudaGraphGetNodes(graph, None, ctypes.byref(count)), count.value], [0, 0, 4])
        executable = cuda.made("cudaGraphInstantiateWithFlags", graph, 0)
        self.assertEqual(cuda.cudaGraphDestroy(graph), 0)
        for text in (b"replayed", b"verbatim"):
            data.raw = text
            self.assertEqual(cuda.cudaGraphLaunch(executable, self.other), 0)
            self.assertEqual(cuda.cudaMemcpy(ctypes.addressof(self.pageable), self.more, BYTES, 2), 0)
            self.assertEqual(self.pageable.raw, text[:4] + b"----")
        self.assertEqual(cuda.cudaGraphExecDestroy(executable), 0)

    def test_what_it_does_not_have_is_refused(self):
        self.assertEqual(self.cuda.cudaStreamBeginCaptureToGraph(self.stream, 0, None, None, 0, GLOBAL), NOT_SUPPORTED)
        self.assertEqual(self.cuda.cudaEventRecordWithFlags(self.event, self.stream, EXTERNAL), NOT_SUPPORTED)

    def test_errors_have_cudas_names(self):
        names = [self.cuda.cudaGetErrorName(number).decode() for number in range(900, 909)]
        self.assertEqual(names, [*(f"cudaErrorStreamCapture{name}" for name in ("Unsupported", "Invalidated", "Merge", "Unmatched", "Unjoined", "Isolation", "Implicit")),
                                 "cudaErrorCapturedEvent", "cudaErrorStreamCaptureWrongThread"])
        self.assertEqual(self.cuda.cudaGetErrorString(900), b"operation not permitted when stream is capturing")
        self.assertEqual((self.cuda.cudaGetErrorName(401), self.cuda.cudaGetErrorString(999)), (b"cudaErrorIllegalState", b"an error of the null GPU"))

    def test_faults_by_the_names_of_the_new_calls(self):
        # A separate process: the environment is read once.
        names = ["cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphInstantiateWithFlags", "cudaGraphLaunch", "cudaGraphGetNodes", "cudaGraphDestroy"]
        script = ("import ctypes, json, sys\nlibrary = ctypes.CDLL(sys.argv[1])\nwords = [ctypes.byref(ctypes.c_void_p()) for _ in range(3)]\n"
                  "print(json.dumps([getattr(library, name)(*words) for name in sys.argv[2:]]))\n")
        said = subprocess.run([sys.executable, "-c", script, LIBRARY, *names], env={**os.environ, "NULL_GPU_FAULT": ",".join(f"{name}:1:719" for name in names)},
                              capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(said.stdout), [719] * len(names))


if __name__ == "__main__":
    unittest.main()
