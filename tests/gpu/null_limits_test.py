"""The null GPU's answers about its limits (tests/gpu/null/limits.cpp): no caller divides by an unintended zero."""
import ctypes
import pathlib
import subprocess
import tempfile
import unittest

NULL = pathlib.Path(__file__).with_name("null")
# Numbers of cudaDeviceAttr: threads of a block, sizes of a grid, shared memory, warp, registers, multiprocessors, threads and blocks of one.
DIVISORS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 39, 81, 82, 97, 106]
UNKNOWN = 44  # neither the runtime nor the driver has it


class Limits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        library = pathlib.Path(folder.name, "libnullgpu.so")
        subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", f"-I{NULL}", NULL / "null_gpu.cpp", NULL / "limits.cpp", "-o", library], check=True)
        cls.null_gpu = ctypes.CDLL(str(library))
        cls.null_gpu.null_gpu_blocks.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_size_t]

    def limit(self, attribute, device=0):
        value = ctypes.c_int()
        return value.value if self.null_gpu.null_gpu_limit(attribute, device, ctypes.byref(value)) else None

    def test_every_attribute_of_cuda_13_is_answered_and_no_other(self):
        self.assertEqual([number for number in range(1, 148) if self.limit(number) is None], [UNKNOWN])
        self.assertIsNone(self.limit(148))

    def test_what_callers_divide_by_is_not_zero(self):
        for number in DIVISORS:
            self.assertGreater(self.limit(number), 0, number)

    def test_gpus_differ_in_their_bus(self):
        self.assertEqual([self.limit(33, device) for device in (0, 1)], [1, 2])

    def test_blocks_on_a_multiprocessor(self):
        # By threads, by their number, by registers (65536), by shared memory (233472, 1024 of each block reserved); none for too many
        # threads.
        for threads, registers, shared, blocks in ((1024, 32, 0, 2), (32, 32, 0, 32), (256, 128, 0, 2), (128, 32, 100000, 2), (1025, 32, 0, 0), (0, 32, 0, 0)):
            self.assertEqual(self.null_gpu.null_gpu_blocks(threads, registers, shared), blocks, (threads, registers, shared))


if __name__ == "__main__":
    unittest.main()
