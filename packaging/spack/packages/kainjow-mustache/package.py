from spack.package import *


class KainjowMustache(Package):
    """Mustache templates in one header of C++."""

    homepage = "https://github.com/kainjow/Mustache"
    git = "https://github.com/kainjow/Mustache.git"

    license("BSL-1.0")

    version("4.1", tag="v4.1", commit="c66fdd87f01f0b2d1ba704192f27355b77746a5b")

    def install(self, spec, prefix):
        mkdirp(prefix.include.kainjow)
        install("mustache.hpp", prefix.include.kainjow)
