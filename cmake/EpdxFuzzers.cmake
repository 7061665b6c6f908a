# epdx_fuzzer(<name> SOURCES <file>... [LINK <library>...])
# A libFuzzer program, made only with -DEPDX_BUILD_FUZZERS=ON, which wants
# clang. Then every part is built with coverage for the fuzzer and with the
# address and undefined behaviour sanitizers. Run it as
#   <name> -max_total_time=60 <scratch folder> <corpus folder>
include_guard(GLOBAL)

if(EPDX_BUILD_FUZZERS)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "epdx: EPDX_BUILD_FUZZERS needs clang: configure with "
                        "-DCMAKE_C_COMPILER=clang")
  endif()
  set(sanitizers fuzzer-no-link,address,undefined)
  target_compile_options(epdx_flags INTERFACE
    -fsanitize=${sanitizers} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(epdx_flags INTERFACE -fsanitize=${sanitizers})
  unset(sanitizers)
endif()

function(epdx_fuzzer name)
  if(NOT EPDX_BUILD_FUZZERS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE epdx_flags ${ARG_LINK})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
