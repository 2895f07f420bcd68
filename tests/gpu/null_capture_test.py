"""Records of the null GPU, effects of a graph, and calls that CUDA forbids during a capture (tests/gpu/null/capture.hpp). Numbers are those of cudaError_t."""
import ctypes
import itertools
import os
import pathlib
import subprocess
import tempfile
import threading
import unittest

NULL = pathlib.Path(__file__).with_name("null")
GLOBAL, THREAD_LOCAL, RELAXED = range(3)
NONE, ACTIVE, INVALIDATED = range(3)
INVALID_VALUE, INVALID_HANDLE, ILLEGAL_STATE = 1, 400, 401
UNSUPPORTED, FAILED_BEFORE, MERGE, UNMATCHED, UNJOINED, ISOLATION, IMPLICIT, CAPTURED_EVENT, WRONG_THREAD = range(900, 909)
LEGACY, STREAM, OTHER, THIRD, EVENT, SECOND_EVENT, FREE_EVENT, HANDLE = None, 16, 32, 48, 64, 80, 96, 112  # opaque handles
POINTERS = {"product": 1, "set_stream": 2, "await": 1, "blocking_stream": 1, "record_event": 2, "wait_event": 2, "await_event": 1,
            "forget_event": 1, "unrecordable": 1, "launch": 2, "destroy_graph": 1, "graph_nodes": 2, "instantiate": 2, "end_capture": 2,
            "capture_status": 3}


def in_this_thread(call):
    return call()


def in_thread(call):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(call()))
    thread.start()
    thread.join()
    return answers[0]


def setUpModule():
    """A process has one libnullgpu, and one report."""
    global LIBRARY, REPORT
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    path, REPORT = pathlib.Path(folder.name, "libnullgpu.so"), pathlib.Path(folder.name, "counts")
    sources = [NULL / f"{name}.cpp" for name in ("null_gpu", "limits", "capture")]
    subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", f"-I{NULL}", *sources, "-o", path], check=True)
    # Read at the first call.
    os.environ["NULL_GPU_REPORT"] = str(REPORT)
    unittest.addModuleCleanup(os.environ.pop, "NULL_GPU_REPORT")
    LIBRARY = ctypes.CDLL(str(path))
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    for name, count in POINTERS.items():
        getattr(LIBRARY, f"null_gpu_{name}").argtypes = [pointer] * count
    LIBRARY.null_gpu_work.argtypes = [pointer, ctypes.c_char_p, ctypes.c_char_p]
    LIBRARY.null_gpu_copy.argtypes = [pointer, ctypes.c_char_p, pointer, pointer, size, number]
    LIBRARY.null_gpu_memset.argtypes = [pointer, pointer, number, size]
    LIBRARY.null_gpu_begin_capture.argtypes = [pointer, number]


def all_counts():
    if not REPORT.exists():
        return {}
    lines = REPORT.read_text().rstrip("\0").splitlines()
    return {name: int(count) for count, name in (line.split("\t") for line in lines)}


class Capture(unittest.TestCase):
    """A test checks what it adds to the report."""

    def setUp(self):
        self.before = all_counts()

    def call(self, name, *arguments):
        return getattr(LIBRARY, f"null_gpu_{name}")(*arguments)

    def counts(self):
        return {name: count - self.before.get(name, 0) for name, count in all_counts().items() if count != self.before.get(name, 0)}

    def kernel(self, stream=STREAM):
        return self.call("work", stream, b"kernel", None)

    def copy(self, to, source, stream=STREAM, pageable=False):
        return self.call("copy", stream, b"copy on device", ctypes.addressof(to), ctypes.addressof(source), ctypes.sizeof(to), pageable)

    def begin(self, stream=STREAM, mode=GLOBAL):
        self.assertEqual(self.call("begin_capture", stream, mode), 0)
        # A failing test leaves no capture to the next one.
        self.addCleanup(self.call, "end_capture", stream, ctypes.byref(ctypes.c_void_p()))

    def end(self, stream=STREAM, error=0):
        """The graph; none where the capture ends with an error."""
        graph = ctypes.c_void_p(1)
        self.assertEqual(self.call("end_capture", stream, ctypes.byref(graph)), error)
        self.assertEqual(graph.value is None, error != 0)
        return graph

    def executable(self, graph):
        made = ctypes.c_void_p()
        self.assertEqual(self.call("instantiate", graph, ctypes.byref(made)), 0)
        return made

    def status(self, stream=STREAM):
        status, number = ctypes.c_int(), ctypes.c_ulonglong()
        self.assertEqual(self.call("capture_status", stream, ctypes.byref(status), ctypes.byref(number)), 0)
        self.assertEqual(number.value == 0, status.value == NONE)
        return status.value

    def set_mode(self, mode):
        was = ctypes.c_int(mode)
        self.assertEqual(LIBRARY.null_gpu_exchange_mode(ctypes.byref(was)), 0)
        return was.value

    def in_mode(self, mode, call):
        was = self.set_mode(mode)
        answer = call()
        self.assertEqual(self.set_mode(was), mode)
        return answer

    def refused(self, error, call, mode=GLOBAL):
        """A call that a capture refuses: it is invalid from then on, takes nothing more, and ends with an error, out of which comes no graph."""
        self.begin(mode=mode)
        self.assertEqual(self.kernel(), 0)
        self.assertEqual(call(), error)
        self.assertEqual(self.status(), INVALIDATED)
        self.assertEqual(self.kernel(), FAILED_BEFORE)
        self.end(error=FAILED_BEFORE)
        self.assertEqual(self.status(), NONE)
        self.assertEqual(self.counts()["capture invalidated"], 1)
        self.before = all_counts()
        self.assertEqual(self.kernel(), 0)

    def allowed(self, call, mode=GLOBAL):
        self.begin(mode=mode)
        self.assertEqual(call(), 0)
        self.end()


class Graphs(Capture):
    def test_work_is_recorded_and_done_by_each_launch_in_order(self):
        a, b, c = (ctypes.c_int(value) for value in (1, 2, 3))
        self.begin()
        self.assertEqual(self.status(), ACTIVE)
        # c = b, b = a, a = -1: another order gives other numbers.
        self.assertEqual([self.copy(c, b), self.copy(b, a), self.call("memset", STREAM, ctypes.addressof(a), 255, 4)], [0, 0, 0])
        self.assertEqual([a.value, b.value, c.value], [1, 2, 3])
        graph = self.end()
        nodes = ctypes.c_size_t()
        self.assertEqual([self.call("graph_nodes", graph, ctypes.byref(nodes)), nodes.value], [0, 3])
        executable = self.executable(graph)
        self.assertEqual(self.call("destroy_graph", graph), 0)
        for values in ([-1, 1, 2], [-1, -1, 1], [-1, -1, -1]):
            self.assertEqual(self.call("launch", executable, OTHER), 0)
            self.assertEqual([a.value, b.value, c.value], values)
        self.assertEqual(self.counts(), {"captured copy on device": 2, "captured memset": 1, "graph launch": 3, "copy on device in a graph": 6,
                                         "memset in a graph": 3})

    def test_kernels_and_products_count_as_recorded_and_as_done(self):
        self.call("set_stream", HANDLE, STREAM)
        self.assertEqual([self.kernel(), self.call("product", HANDLE)], [0, 0])
        self.begin()
        self.assertEqual([self.kernel(), self.call("work", STREAM, b"kernel", b"own"), self.call("product", HANDLE)], [0, 0, 0])
        self.assertEqual(self.kernel(OTHER), 0)  # another stream continues as before
        executable = self.executable(self.end())
        self.assertEqual([self.call("launch", executable, LEGACY), self.call("launch", executable, LEGACY)], [0, 0])
        self.assertEqual(self.counts(), {"kernel": 2, "product": 1, "captured kernel": 2, "captured kernel own": 1, "captured product": 1, "graph launch": 2,
                                         "kernel in a graph": 4, "kernel in a graph own": 2, "product in a graph": 2})

    def test_a_graph_that_is_gone_is_told(self):
        self.begin()
        graph = self.end()
        executable = self.executable(graph)
        for handle in (graph, executable):
            self.assertEqual([self.call("destroy_graph", handle), self.call("destroy_graph", handle)], [0, INVALID_HANDLE])
        made = ctypes.c_void_p(1)
        self.assertEqual([self.call("instantiate", graph, ctypes.byref(made)), made.value], [INVALID_HANDLE, None])
        self.assertEqual(self.call("launch", executable, STREAM), INVALID_HANDLE)

    def test_a_fork_that_is_joined_is_in_the_graph(self):
        self.begin()
        self.assertEqual([self.kernel(), self.call("record_event", EVENT, STREAM), self.call("wait_event", OTHER, EVENT)], [0, 0, 0])
        self.assertEqual(self.status(OTHER), ACTIVE)
        self.assertEqual([self.kernel(OTHER), self.kernel(), self.call("record_event", SECOND_EVENT, OTHER)], [0, 0, 0])
        self.assertEqual(self.call("wait_event", STREAM, SECOND_EVENT), 0)
        nodes = ctypes.c_size_t()
        self.call("graph_nodes", self.end(), ctypes.byref(nodes))
        self.assertEqual([nodes.value, self.status(OTHER)], [3, NONE])


class Refusals(Capture):
    def test_a_capture_of_the_legacy_stream(self):
        for stream in (LEGACY, 1):  # 1: cudaStreamLegacy
            self.assertEqual(self.call("begin_capture", stream, GLOBAL), UNSUPPORTED)
        self.assertEqual(self.call("begin_capture", STREAM, 3), INVALID_VALUE)
        self.assertEqual(self.status(), NONE)

    def test_a_capture_of_a_stream_that_captures(self):
        self.refused(ILLEGAL_STATE, lambda: self.call("begin_capture", STREAM, GLOBAL))

    def test_waits_of_the_host(self):
        for mode in (GLOBAL, THREAD_LOCAL, RELAXED):
            self.refused(UNSUPPORTED, lambda: self.call("await", STREAM), mode)
            self.refused(UNSUPPORTED, lambda: LIBRARY.null_gpu_await_all(), mode)
            self.refused(UNSUPPORTED, lambda: in_thread(LIBRARY.null_gpu_await_all), mode)

    def test_events_of_the_capture_and_the_host(self):
        self.refused(CAPTURED_EVENT, lambda: self.call("record_event", EVENT, STREAM) or self.call("await_event", EVENT), RELAXED)
        # The capture is over, and the event still belongs to it, until it is recorded again or is gone.
        self.assertEqual([self.call("await_event", EVENT), self.call("wait_event", OTHER, EVENT)], [CAPTURED_EVENT, CAPTURED_EVENT])
        self.assertEqual([self.call("record_event", EVENT, OTHER), self.call("await_event", EVENT)], [0, 0])
        self.refused(CAPTURED_EVENT, lambda: self.call("record_event", EVENT, STREAM) or self.call("await_event", EVENT))
        self.call("forget_event", EVENT)
        self.assertEqual(self.call("await_event", EVENT), 0)

    def test_an_event_from_outside(self):
        self.assertEqual(self.call("record_event", EVENT, STREAM), 0)
        self.refused(ISOLATION, lambda: self.call("wait_event", STREAM, EVENT))

    def test_unsafe_calls_by_the_modes_of_capture_and_thread(self):
        # For each mode of the capture and of a thread: may the capturing thread make them, and may another one?
        may = {(GLOBAL, GLOBAL): (False, False), (GLOBAL, THREAD_LOCAL): (False, True), (GLOBAL, RELAXED): (True, True),
               (THREAD_LOCAL, GLOBAL): (False, True), (THREAD_LOCAL, THREAD_LOCAL): (False, True), (THREAD_LOCAL, RELAXED): (True, True),
               (RELAXED, GLOBAL): (True, True), (RELAXED, THREAD_LOCAL): (True, True), (RELAXED, RELAXED): (True, True)}
        calls = {"cudaMalloc": LIBRARY.null_gpu_unsafe, "an event": lambda: self.call("await_event", FREE_EVENT),
                 "another stream": lambda: self.call("await", OTHER), "the legacy stream": lambda: self.kernel(LEGACY)}
        for ((capture, mode), answers), (name, call) in itertools.product(may.items(), calls.items()):
            for thread, allowed in zip((in_this_thread, in_thread), answers):
                with self.subTest(name, capture=capture, mode=mode, thread=thread.__name__):
                    self.begin(mode=capture)
                    self.assertEqual(thread(lambda: self.in_mode(mode, call)) == 0, allowed)
                    self.end(error=0 if allowed else FAILED_BEFORE)

    def test_a_thread_begins_with_the_global_mode(self):
        self.assertEqual(self.set_mode(RELAXED), GLOBAL)
        self.assertEqual(in_thread(lambda: self.set_mode(RELAXED)), GLOBAL)
        self.assertEqual(self.set_mode(GLOBAL), RELAXED)
        wrong = ctypes.c_int(3)
        self.assertEqual(LIBRARY.null_gpu_exchange_mode(ctypes.byref(wrong)), INVALID_VALUE)

    def test_the_legacy_stream(self):
        for call in (lambda: self.kernel(LEGACY), lambda: self.call("await", LEGACY), lambda: self.call("record_event", EVENT, LEGACY),
                     lambda: self.copy(ctypes.c_int(), ctypes.c_int(), LEGACY)):
            self.refused(IMPLICIT, call)
        self.allowed(lambda: self.kernel(LEGACY), RELAXED)
        self.assertEqual(self.counts()["kernel"], 2)  # the last one of refused, and this one: beside the capture

    def test_the_legacy_stream_joins_no_capture(self):
        self.refused(IMPLICIT, lambda: self.call("record_event", EVENT, STREAM) or self.call("wait_event", LEGACY, EVENT), RELAXED)

    def test_the_legacy_stream_beside_one_for_which_it_waits(self):
        blocking = 128
        self.call("blocking_stream", blocking)
        self.begin(blocking, RELAXED)
        status, number = ctypes.c_int(), ctypes.c_ulonglong()
        self.assertEqual(self.call("capture_status", LEGACY, ctypes.byref(status), ctypes.byref(number)), IMPLICIT)
        self.assertEqual(self.status(blocking), ACTIVE)  # a query does no harm
        self.assertEqual(self.kernel(LEGACY), IMPLICIT)
        self.end(blocking, FAILED_BEFORE)
        self.assertEqual([self.kernel(LEGACY), self.status(LEGACY)], [0, NONE])

    def test_pageable_memory(self):
        a, b = ctypes.c_int(1), ctypes.c_int(2)
        self.refused(UNSUPPORTED, lambda: self.copy(a, b, pageable=True))
        self.assertEqual([self.copy(a, b, pageable=True), a.value], [0, 2])

    def test_graphs_and_collectives(self):
        self.begin()
        executable = self.executable(self.end())
        self.refused(UNSUPPORTED, lambda: self.call("launch", executable, STREAM))
        self.refused(UNSUPPORTED, lambda: self.call("unrecordable", STREAM))
        self.assertEqual(self.call("unrecordable", STREAM), 0)

    def test_a_fork_that_is_not_joined(self):
        self.begin()
        self.assertEqual([self.call("record_event", EVENT, STREAM), self.call("wait_event", OTHER, EVENT), self.kernel(OTHER)], [0, 0, 0])
        self.end(error=UNJOINED)
        self.assertEqual([self.status(), self.status(OTHER)], [NONE, NONE])

    def test_work_after_the_event_that_joins_is_not_joined(self):
        self.begin()
        self.assertEqual([self.call("record_event", EVENT, STREAM), self.call("wait_event", OTHER, EVENT), self.kernel(OTHER)], [0, 0, 0])
        self.assertEqual([self.call("record_event", EVENT, OTHER), self.kernel(OTHER), self.call("wait_event", STREAM, EVENT)], [0, 0, 0])
        self.end(error=UNJOINED)

    def test_the_wrong_stream_or_thread_ends_it(self):
        def end(stream):
            graph = ctypes.c_void_p()
            return self.call("end_capture", stream, ctypes.byref(graph))

        self.assertEqual(end(STREAM), ILLEGAL_STATE)
        self.refused(UNMATCHED, lambda: self.call("record_event", EVENT, STREAM) or self.call("wait_event", OTHER, EVENT) or end(OTHER))
        for mode in (GLOBAL, THREAD_LOCAL):
            self.refused(WRONG_THREAD, lambda: in_thread(lambda: end(STREAM)), mode)
        self.begin(mode=RELAXED)
        self.assertEqual(in_thread(lambda: end(STREAM)), 0)

    def test_nobody_joins_a_capture_that_has_failed(self):
        self.begin()
        self.assertEqual([self.call("record_event", EVENT, STREAM), self.call("await", STREAM)], [0, UNSUPPORTED])
        self.assertEqual([self.call("wait_event", OTHER, EVENT), self.status(OTHER)], [FAILED_BEFORE, NONE])
        self.end(error=FAILED_BEFORE)

    def test_two_captures_do_not_become_one(self):
        self.begin(THIRD)
        self.assertEqual(self.call("record_event", EVENT, THIRD), 0)
        self.begin()
        self.assertEqual(self.call("wait_event", STREAM, EVENT), MERGE)
        self.end(error=FAILED_BEFORE)
        self.end(THIRD, FAILED_BEFORE)


if __name__ == "__main__":
    unittest.main()
