"""hpcbench for Spack: spack repo add packaging/spack; spack install hpcbench"""
from pathlib import Path

from spack.package import *


class Hpcbench(CMakePackage):
    """A declarative experiment runner for scaling studies of distributed training."""

    # The checkout that this recipe lies in.
    git = "file://" + str(Path(__file__).resolve().parents[4])
    homepage = git

    license("Apache-2.0")

    version("0.4.0", branch="main", preferred=True)

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("boost@1.74: +program_options")
    depends_on("fmt@9:")
    depends_on("spdlog")
    depends_on("nlohmann-json")
    depends_on("sqlite")
    depends_on("sqlitecpp")
    depends_on("kainjow-mustache")
    depends_on("yaml-cpp")
    depends_on("pugixml")
    depends_on("re2")
    depends_on("nettle")
    depends_on("utf8proc")
    depends_on("zstd")
    depends_on("zlib-api")

    generator("ninja")

    def cmake_args(self):
        # No ccache around Spack's compiler: it would not see the flags that Spack adds, as -march. Spack has its own (config:ccache).
        return ["-DHPCBENCH_TRAINER=OFF", "-DHPCBENCH_TESTS=OFF", "-DHPCBENCH_CCACHE=OFF", f"-DHPCBENCH_BUILD=spack {self.spec.version}"]
