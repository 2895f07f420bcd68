from spack.package import *


class Sqlitecpp(CMakePackage):
    """A C++ wrapper around SQLite."""

    homepage = "https://srombauts.github.io/SQLiteCpp"
    git = "https://github.com/SRombauts/SQLiteCpp.git"

    license("MIT")

    version("3.3.2", tag="3.3.2", commit="08aa70a45ea52abcd8ee6b5d1ab1542140b3c7f5")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.5:", type="build")
    depends_on("sqlite+column_metadata")

    def cmake_args(self):
        return ["-DSQLITECPP_INTERNAL_SQLITE=OFF", "-DSQLITECPP_RUN_CPPLINT=OFF", "-DSQLITECPP_RUN_CPPCHECK=OFF"]
