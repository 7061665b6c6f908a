# One part, one static library: epdx_module(). One unit test: epdx_test().
# One test over MPI ranks: epdx_mpi_test().

add_library(epdx_flags INTERFACE)
target_include_directories(epdx_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(epdx_flags INTERFACE _GNU_SOURCE
  EPDX_VERSION_STRING="${PROJECT_VERSION}")
target_compile_options(epdx_flags INTERFACE -Wall -Wextra
  $<$<BOOL:${EPDX_WERROR}>:-Werror> -Wshadow -Wstrict-prototypes
  -Wmissing-prototypes -Wvla -Wformat=2 -fvisibility=hidden)
if(EPDX_SANITIZE)
  target_compile_options(epdx_flags INTERFACE
    -fsanitize=${EPDX_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(epdx_flags INTERFACE -fsanitize=${EPDX_SANITIZE})
endif()

# epdx_module(<part> SOURCES <file>... [LINK <library>...])
# A part's library is epi_<part>; LINK names the lower parts and the one
# foreign library that it uses.
function(epdx_module part)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(epi_${part} STATIC ${ARG_SOURCES})
  target_link_libraries(epi_${part} PUBLIC epdx_flags ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY EPDX_PARTS epi_${part})
endfunction()

# epdx_test(<name> SOURCES <file>... [LINK <library>...] [TIMEOUT <seconds>])
# A cmocka program, skipped when it exits 77.
function(epdx_test name)
  if(NOT EPDX_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE epdx_flags ${ARG_LINK}
                        PkgConfig::CMOCKA)
  epdx_gpu_fake(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES
    LABELS unit TIMEOUT ${ARG_TIMEOUT} SKIP_RETURN_CODE 77)
  epdx_test_environment(${name})
endfunction()

# What the sanitizers are told, for every test: the suppressions, each with
# its reason, stand in scripts/suppressions/. UCX's memory hooks stay off: they
# run in a thread's last moments, when the thread sanitizer has let go of it.
function(epdx_test_environment name)
  set(dir ${PROJECT_SOURCE_DIR}/scripts/suppressions)
  set_tests_properties(${name} PROPERTIES ENVIRONMENT
    "LSAN_OPTIONS=suppressions=${dir}/lsan.txt:print_suppressions=0;TSAN_OPTIONS=suppressions=${dir}/tsan.txt:halt_on_error=1;ASAN_OPTIONS=detect_leaks=1:fast_unwind_on_malloc=0;UBSAN_OPTIONS=print_stacktrace=1;OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;UCX_MEM_MMAP_HOOK_MODE=none")
endfunction()

# How ranks are started. The flags are Open MPI's (4.1): more ranks than cores,
# which must then yield while they wait, over shared memory and loopback only.
set(EPDX_MPIRUN_FLAGS
    --oversubscribe --bind-to none --mca mpi_yield_when_idle 1
    --mca btl self,vader --mca oob_tcp_if_include lo
    CACHE STRING "Flags of ${MPIEXEC_EXECUTABLE} for the tests over ranks")

# epdx_mpi_run(<test> <target> <ranks> <timeout in seconds> [<argument>...])
# One CTest of a program over ranks. Such tests run alone: their ranks alone are
# more than most machines have cores.
function(epdx_mpi_run test target ranks timeout)
  add_test(NAME ${test} COMMAND
    ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${EPDX_MPIRUN_FLAGS}
    $<TARGET_FILE:${target}> ${ARGN})
  set_tests_properties(${test} PROPERTIES LABELS mpi TIMEOUT ${timeout}
    SKIP_RETURN_CODE 77 PROCESSORS ${ranks} RUN_SERIAL TRUE)
  epdx_test_environment(${test})
endfunction()

# epdx_mpi_test(<name> SOURCES <file>... [LINK <library>...]
#               RANKS <count>... [TIMEOUT <seconds>])
# One program of mpi_tests/harness.h, and <name>_<n>ranks for each count. The
# program ends itself at the time limit and says where each rank is; CTest waits
# a little longer.
function(epdx_mpi_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;RANKS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  math(EXPR patience "${ARG_TIMEOUT} + 30")
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE epdx_flags ${ARG_LINK} MPI::MPI_C)
  epdx_gpu_fake(${name})
  foreach(ranks IN LISTS ARG_RANKS)
    epdx_mpi_run(${name}_${ranks}ranks ${name} ${ranks} ${patience}
                 ${ARG_TIMEOUT})
  endforeach()
endfunction()
