# Finds every library that epdx stands on, or stops with the Debian package
# that brings it. Debian 12's versions are the floor.
include(FindPkgConfig)
find_package(Threads REQUIRED)

if(NOT PKG_CONFIG_FOUND)
  message(FATAL_ERROR "epdx: pkg-config was not found (Debian: pkg-config); "
                      "scripts/deps.sh installs all that epdx needs")
endif()

# epdx_find(<target> <pkg-config name> <least version> <Debian package>)
function(epdx_find target module version package)
  pkg_check_modules(${target} QUIET IMPORTED_TARGET GLOBAL
                    "${module}>=${version}")
  if(NOT ${target}_FOUND)
    message(FATAL_ERROR "epdx: ${module} >= ${version} was not found "
                        "(Debian: ${package}); scripts/deps.sh installs it")
  endif()
  message(STATUS "epdx: ${module} ${${target}_VERSION}")
endfunction()

epdx_find(UCX ucx 1.13 libucx-dev)
epdx_find(CURL libcurl 7.88 libcurl4-openssl-dev)
epdx_find(CJSON libcjson 1.7.15 libcjson-dev)
epdx_find(ZMQ libzmq 4.3.4 libzmq3-dev)
epdx_find(MICROHTTPD libmicrohttpd 0.9.75 libmicrohttpd-dev)
if(EPDX_BUILD_TESTS)
  epdx_find(CMOCKA cmocka 1.1.5 libcmocka-dev)
endif()

find_package(MPI 3.1 COMPONENTS C QUIET)
if(NOT MPI_C_FOUND)
  message(FATAL_ERROR "epdx: MPI 3.1 was not found (Debian: libopenmpi-dev "
                      "openmpi-bin); scripts/deps.sh installs it")
endif()
message(STATUS "epdx: MPI ${MPI_C_VERSION} (${MPIEXEC_EXECUTABLE})")

# DLPack is one header, of 0.6 or later; tensors are left out without it.
include(CheckCSourceCompiles)
find_path(DLPACK_INCLUDE_DIR dlpack/dlpack.h)
mark_as_advanced(DLPACK_INCLUDE_DIR)
set(EPDX_HAVE_DLPACK OFF)
if(DLPACK_INCLUDE_DIR)
  set(CMAKE_REQUIRED_INCLUDES ${DLPACK_INCLUDE_DIR})
  check_c_source_compiles("
    #include <dlpack/dlpack.h>
    int main(void) { return kDLBfloat + kDLCUDA + (int)sizeof(DLManagedTensor); }"
    EPDX_DLPACK_COMPILES)
  unset(CMAKE_REQUIRED_INCLUDES)
  if(EPDX_DLPACK_COMPILES)
    set(EPDX_HAVE_DLPACK ON)
    add_library(epi_dlpack INTERFACE)
    target_include_directories(epi_dlpack SYSTEM INTERFACE
                               ${DLPACK_INCLUDE_DIR})
    message(STATUS "epdx: DLPack in ${DLPACK_INCLUDE_DIR}")
  endif()
endif()
if(NOT EPDX_HAVE_DLPACK)
  message(STATUS "epdx: tensors (epdx/dlpack.h) left out: no DLPack 0.6 or "
                 "later was found (Debian: libdlpack-dev)")
endif()
