# The Spack recipe of epdx, for Spack 1.0 and later. README.md beside the
# repository's folder says how to use it.
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Epdx(CMakePackage, CudaPackage):
    """Moves image, video and audio embeddings from the encode nodes of a
    multimodal LLM server to its prefill ranks, over UCX and MPI."""

    license("MIT")

    # The sources are a checkout, named by `spack develop --path`.
    has_code = True
    manual_download = True

    version("0.1.0")

    variant("nccl", default=True, when="+cuda",
            description="Rebuild full rows in device memory by NCCL")
    variant("dlpack", default=True, description="Landed rows as DLPack tensors")
    variant("static", default=False, description="Build libepdx.a, too")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")

    depends_on("mpi@3.1:")
    # tcp and shared memory are always in; verbs and the accelerated transports
    # for RDMA are the site's to choose, such as ucx+verbs+rc+ud+mlx5_dv.
    depends_on("ucx@1.13:")
    depends_on("ucx+cuda", when="+cuda")
    depends_on("curl@7.88:")
    depends_on("cjson@1.7.15:")
    depends_on("libzmq@4.3.4:+libsodium")
    depends_on("libmicrohttpd@0.9.75:+https")
    depends_on("dlpack@0.8:", when="+dlpack", type=("build", "link"))
    depends_on("cuda@11.3:", when="+cuda")
    depends_on("nccl@2.14:", when="+nccl")

    generator("ninja")

    def cmake_args(self):
        def switch(name, variant):
            return self.define(name, "ON" if variant in self.spec else "OFF")

        return [
            switch("EPDX_CUDA", "+cuda"),
            switch("EPDX_NCCL", "+nccl"),
            switch("EPDX_BUILD_STATIC", "+static"),
            self.define("EPDX_BUILD_TESTS", self.run_tests),
            self.define("EPDX_WERROR", False),
        ]

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.epdx_info)()
