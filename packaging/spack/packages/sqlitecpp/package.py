from spack.package import *


class Sqlitecpp(CMakePackage):
    """A C++ wrapper around SQLite."""

    homepage = "https://srombauts.github.io/SQLiteCpp"
    git = "https://github.com/SRombauts/SQLiteCpp.git"

    license("MIT")

    version("3.2.1", tag="3.2.1")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.5:", type="build")
    depends_on("sqlite")

    def cmake_args(self):
        return ["-DSQLITECPP_INTERNAL_SQLITE=OFF", "-DSQLITECPP_RUN_CPPLINT=OFF", "-DSQLITECPP_RUN_CPPCHECK=OFF"]
