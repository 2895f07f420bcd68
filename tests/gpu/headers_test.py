"""Where the build looks for CUDA's headers: layouts of pip, conda and archives, as folders of empty files."""
import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake/CudaHeaders.cmake"
# A version that no machine has: the toolkit in /usr/local/cuda is another one and must be left alone.
NEW, OLD = ("13.9", 13090), ("12.9", 12090)
TOOLKIT = ["crt/host_defines.h", "cccl/nv/target", "cublas_v2.h", "cusparse.h", "cusolverDn.h"]


class Headers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.torch = self.root / "site-packages/torch"
        self.torch.mkdir(parents=True)

    def put(self, folder, *names, runtime=None):
        for name in names:
            path = self.root / folder / "include" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        if runtime:
            (self.root / folder / "include").mkdir(parents=True, exist_ok=True)
            (self.root / folder / "include/cuda_runtime_api.h").write_text(f"#define CUDART_VERSION  {runtime}\n")
            (self.root / folder / "lib").mkdir(exist_ok=True)
            (self.root / folder / "lib" / f"libcudart.so.{runtime // 1000}").touch()

    def missing(self, **environment):
        """Returns the packages for pip to install."""
        clean = {name: value for name, value in os.environ.items() if name not in ("CUDA_HOME", "CONDA_PREFIX")}
        said = subprocess.run(["cmake", "-D", f"TORCH_DIR={self.torch}", "-P", SCRIPT], env={**clean, **environment}, capture_output=True,
                              text=True, check=True)
        return said.stdout.strip()

    def test_cuda_13_wheels_lack_crt_and_cccl(self):
        self.put("site-packages/nvidia/cu13", "cublas_v2.h", "cusparse.h", "cusolverDn.h", runtime=NEW[1])
        self.put("site-packages/nvidia/nccl", "nccl.h")
        self.assertEqual(self.missing(), "cuda-toolkit[crt,cccl]==13.9.*")
        self.put("site-packages/nvidia/cu13", *TOOLKIT)
        self.assertEqual(self.missing(), "")

    def test_cuda_12_wheels_have_a_folder_for_each_package(self):
        self.put("site-packages/nvidia/cuda_runtime", runtime=OLD[1])
        self.put("site-packages/nvidia/cublas", "cublas_v2.h")
        self.put("site-packages/nvidia/cusolver", "cusolverDn.h")
        self.put("site-packages/nvidia/nccl", "nccl.h")
        self.assertEqual(self.missing(), "nvidia-cuda-nvcc-cu12==12.9.* nvidia-cuda-cccl-cu12==12.9.* nvidia-cusparse-cu12")
        self.put("site-packages/nvidia/cusparse", "cusparse.h")
        self.put("site-packages/nvidia/cuda_nvcc", "crt/host_defines.h")
        self.put("site-packages/nvidia/cuda_cccl", "nv/target")
        self.assertEqual(self.missing(), "")

    def test_a_toolkit_fills_in_only_for_its_own_version(self):
        self.put("site-packages/nvidia/cu13", runtime=NEW[1])
        self.put("site-packages/nvidia/nccl", "nccl.h")
        self.put("toolkit", *TOOLKIT, runtime=NEW[1])
        self.put("older", *TOOLKIT, runtime=OLD[1])
        self.assertEqual(self.missing(CUDA_HOME=str(self.root / "toolkit")), "")
        self.assertEqual(self.missing(CUDA_HOME=str(self.root / "older")), "cuda-toolkit[crt,cccl,cublas,cusparse,cusolver]==13.9.*")

    def test_an_archive_with_a_system_toolkit(self):
        self.put("toolkit", *TOOLKIT, "nccl.h", runtime=NEW[1])
        self.assertEqual(self.missing(CUDA_HOME=str(self.root / "toolkit")), "")

    def test_conda(self):
        self.put("env/targets/x86_64-linux", *TOOLKIT, "nccl.h", runtime=NEW[1])
        if os.uname().machine != "x86_64":
            self.skipTest("the folder is named after x86_64")
        self.assertEqual(self.missing(CONDA_PREFIX=str(self.root / "env")), "")


if __name__ == "__main__":
    unittest.main()
