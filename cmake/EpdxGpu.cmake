# The GPU libraries, found by their files: neither nvcc nor a driver is needed
# to build.
#
#   EPDX_CUDA=AUTO|ON|OFF   rows in CUDA memory (the CUDA runtime)
#   EPDX_NCCL=AUTO|ON|OFF   reassembly by NCCL; needs CUDA
#   EPDX_GPU_REAL_TESTS     also build tests over the real libraries, for
#                           scripts/gpu_check.sh; see epdx_on_gpu()
#
# AUTO takes what is found, ON stops where it is not. A toolkit in an unusual
# place is named by -DCUDAToolkit_ROOT=<folder>, NCCL by -DNCCL_ROOT=<folder>.
#
# Gives the variables EPDX_HAVE_CUDA, EPDX_HAVE_NCCL, EPDX_CUDA_VERSION and
# EPDX_NCCL_VERSION; the definitions EPDX_HAVE_CUDA and EPDX_HAVE_NCCL (1, or
# not defined) for every source; and where CUDA is in, these targets:
#
#   epi_gpu_headers   include folders alone. What the parts (epi_*) link, so
#                     that whoever links a program decides what is behind the
#                     calls.
#   epi_gpu_real      the real libraries: for libepdx and the programs.
#   epi_gpu_fake      the fakes in src/testing/: for every test. It is made of
#                     objects, so its place on a link line does not matter.
#
# epdx_gpu_real(<target>) and epdx_gpu_fake(<target>) link one of the two, and
# do nothing without CUDA. epdx_on_gpu(<test>) makes a second program of a test,
# over the real libraries, or its rehearsal.
include_guard(GLOBAL)

set(EPDX_CUDA AUTO CACHE STRING "Rows in CUDA memory: AUTO, ON or OFF")
set(EPDX_NCCL AUTO CACHE STRING "Reassembly by NCCL: AUTO, ON or OFF")
set_property(CACHE EPDX_CUDA EPDX_NCCL PROPERTY STRINGS AUTO ON OFF)
option(EPDX_GPU_REAL_TESTS "Build tests over the real GPU libraries, too" OFF)
foreach(option EPDX_CUDA EPDX_NCCL)
  if(NOT "${${option}}" MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "epdx: ${option} is \"${${option}}\"; "
                        "it must be AUTO, ON or OFF")
  endif()
endforeach()

# The least versions that the sources are written for.
set(EPDX_CUDA_LEAST 11.3) # cudaDeviceFlushGPUDirectRDMAWrites
set(EPDX_NCCL_LEAST 2.14) # ncclCommInitRankConfig, ncclCommFinalize

# epdx_find_cuda(): sets EPDX_HAVE_CUDA and EPDX_CUDA_VERSION.
function(epdx_find_cuda)
  set(EPDX_HAVE_CUDA OFF PARENT_SCOPE)
  if(EPDX_CUDA STREQUAL "OFF")
    return()
  endif()
  find_package(CUDAToolkit ${EPDX_CUDA_LEAST} QUIET)
  if(NOT TARGET CUDA::cudart)
    if(EPDX_CUDA STREQUAL "ON")
      message(FATAL_ERROR "epdx: EPDX_CUDA is ON and no CUDA toolkit >= "
              "${EPDX_CUDA_LEAST} was found (cuda_runtime_api.h, libcudart); "
              "name its folder with -DCUDAToolkit_ROOT=")
    endif()
    message(STATUS "epdx: CUDA left out: no toolkit >= ${EPDX_CUDA_LEAST}")
    return()
  endif()
  add_library(epi_gpu_headers INTERFACE)
  target_include_directories(epi_gpu_headers SYSTEM INTERFACE
                             ${CUDAToolkit_INCLUDE_DIRS})
  # The calls are in the parts' archives, which CMake may put behind the
  # libraries: a linker that drops what nobody needed so far would drop them.
  add_library(epi_gpu_real INTERFACE)
  target_link_options(epi_gpu_real INTERFACE LINKER:--no-as-needed)
  target_link_libraries(epi_gpu_real INTERFACE epi_gpu_headers CUDA::cudart)
  message(STATUS "epdx: CUDA ${CUDAToolkit_VERSION}")
  set(EPDX_HAVE_CUDA ON PARENT_SCOPE)
  set(EPDX_CUDA_VERSION ${CUDAToolkit_VERSION} PARENT_SCOPE)
  set(EPDX_CUDA_INCLUDE_DIRS ${CUDAToolkit_INCLUDE_DIRS} PARENT_SCOPE)
  set(EPDX_CUDA_LIBRARY_DIR ${CUDAToolkit_LIBRARY_DIR} PARENT_SCOPE)
endfunction()

# epdx_nccl_version(<header> <variable>): what an nccl.h says it is.
function(epdx_nccl_version header version_p)
  set(version)
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${header} line REGEX "^#define NCCL_${part} +[0-9]+" LIMIT_COUNT 1)
    string(REGEX MATCH "[0-9]+" number "${line}")
    list(APPEND version ${number})
  endforeach()
  list(JOIN version . version)
  set(${version_p} ${version} PARENT_SCOPE)
endfunction()

# epdx_find_nccl(): sets EPDX_HAVE_NCCL and EPDX_NCCL_VERSION.
function(epdx_find_nccl)
  set(EPDX_HAVE_NCCL OFF PARENT_SCOPE)
  if(EPDX_NCCL STREQUAL "OFF")
    return()
  endif()
  set(cause)
  if(NOT EPDX_HAVE_CUDA)
    set(cause "it needs CUDA, which is left out (EPDX_CUDA is ${EPDX_CUDA})")
  else()
    find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${EPDX_CUDA_INCLUDE_DIRS})
    find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2
                 HINTS ${EPDX_CUDA_LIBRARY_DIR})
    mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)
    if(NOT NCCL_INCLUDE_DIR OR NOT NCCL_LIBRARY)
      set(cause "no nccl.h or no libnccl was found; name their folder with -DNCCL_ROOT=")
    else()
      epdx_nccl_version(${NCCL_INCLUDE_DIR}/nccl.h version)
      if(version VERSION_LESS EPDX_NCCL_LEAST)
        set(cause "${NCCL_INCLUDE_DIR}/nccl.h is ${version}, ${EPDX_NCCL_LEAST} is the least")
      endif()
    endif()
  endif()
  if(cause)
    if(EPDX_NCCL STREQUAL "ON")
      message(FATAL_ERROR "epdx: EPDX_NCCL is ON, but ${cause}")
    endif()
    message(STATUS "epdx: NCCL left out: ${cause}")
    return()
  endif()
  target_include_directories(epi_gpu_headers SYSTEM INTERFACE
                             ${NCCL_INCLUDE_DIR})
  target_link_libraries(epi_gpu_real INTERFACE ${NCCL_LIBRARY})
  message(STATUS "epdx: NCCL ${version}")
  set(EPDX_HAVE_NCCL ON PARENT_SCOPE)
  set(EPDX_NCCL_VERSION ${version} PARENT_SCOPE)
endfunction()

epdx_find_cuda()
epdx_find_nccl()
foreach(library CUDA NCCL)
  if(EPDX_HAVE_${library})
    target_compile_definitions(epdx_flags INTERFACE EPDX_HAVE_${library}=1)
  endif()
endforeach()
if(EPDX_HAVE_CUDA)
  # An installed epdx finds the libraries where the build found them.
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
endif()

# epdx_gpu_real(<target>): a library or program that runs on a GPU.
function(epdx_gpu_real target)
  if(EPDX_HAVE_CUDA)
    target_link_libraries(${target} PRIVATE epi_gpu_real)
  endif()
endfunction()

# epdx_gpu_fake(<target>): a test, which needs none.
function(epdx_gpu_fake target)
  if(EPDX_HAVE_CUDA)
    target_link_libraries(${target} PRIVATE epi_gpu_fake)
  endif()
endfunction()

# epdx_on_gpu(<test> [RANKS <count>...] [TIMEOUT <seconds>]
#             [ARGUMENTS <argument>...] [ENVIRONMENT <name=value>...])
# A second program of epdx_test(<test>) or epdx_mpi_test(<test>);
# src/testing/gpu_under_test.h says how one source serves both. With
# EPDX_GPU_REAL_TESTS it is <test>_gpu, over the real libraries, labelled gpu,
# and skipped where there is no GPU. Else it is <test>_rehearsed: the same on
# the fakes. Call it in the folder of <test>, behind it. RANKS: over MPI, all
# ranks on one GPU, which takes NCCL 2.30 or later for more than one.
function(epdx_on_gpu test)
  if(NOT EPDX_HAVE_CUDA OR NOT TARGET ${test})
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "RANKS;ARGUMENTS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(EPDX_GPU_REAL_TESTS)
    set(name ${test}_gpu)
    set(behind epi_gpu_real_test)
  else()
    set(name ${test}_rehearsed)
    set(behind epi_gpu_rehearsal)
  endif()
  get_target_property(sources ${test} SOURCES)
  get_target_property(libraries ${test} LINK_LIBRARIES)
  get_target_property(definitions ${test} COMPILE_DEFINITIONS)
  list(REMOVE_ITEM libraries epi_gpu_fake)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${libraries} ${behind})
  if(definitions)
    target_compile_definitions(${name} PRIVATE ${definitions})
  endif()
  set(tests)
  foreach(ranks IN LISTS ARG_RANKS)
    if(ranks EQUAL 1 OR EPDX_NCCL_VERSION VERSION_GREATER_EQUAL 2.30)
      math(EXPR patience "${ARG_TIMEOUT} + 30")
      epdx_mpi_run(${name}_${ranks}ranks ${name} ${ranks} ${patience}
                   ${ARG_TIMEOUT} ${ARG_ARGUMENTS})
      list(APPEND tests ${name}_${ranks}ranks)
    endif()
  endforeach()
  if(NOT ARG_RANKS)
    add_test(NAME ${name} COMMAND ${name} ${ARG_ARGUMENTS})
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT ${ARG_TIMEOUT}
      SKIP_RETURN_CODE 77)
    epdx_test_environment(${name})
    list(APPEND tests ${name})
  endif()
  foreach(one IN LISTS tests)
    if(EPDX_GPU_REAL_TESTS)
      set_tests_properties(${one} PROPERTIES LABELS gpu RUN_SERIAL TRUE)
    endif()
    set_property(TEST ${one} APPEND PROPERTY ENVIRONMENT
                 NCCL_MULTI_RANK_GPU_ENABLE=1 ${ARG_ENVIRONMENT})
  endforeach()
  if(EPDX_GPU_REAL_TESTS)
    add_dependencies(epdx_gpu_tests ${name})
  endif()
endfunction()

# Builds what scripts/gpu_check.sh runs.
if(EPDX_GPU_REAL_TESTS AND EPDX_HAVE_CUDA)
  add_custom_target(epdx_gpu_tests)
endif()
