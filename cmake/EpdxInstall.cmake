# What `cmake --install` installs, in four components: lib (the shared
# library), dev (headers, CMake package, pkg-config, archive, manual pages of
# the calls), tools (programs and their pages), extra (documents, module file).
# Everything may be moved together: nothing installed has the prefix in it but
# run paths to other libraries.
include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

if(NOT EPDX_INSTALL)
  return()
endif()
set(EPDX_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/epdx)
set(EPDX_PC_DIR ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(TARGETS epdx EXPORT epdxTargets
  LIBRARY COMPONENT lib NAMELINK_COMPONENT dev)
install(EXPORT epdxTargets NAMESPACE epdx:: DESTINATION ${EPDX_CMAKE_DIR}
  COMPONENT dev)
if(EPDX_BUILD_STATIC)
  install(TARGETS epdx_static EXPORT epdxStaticTargets ARCHIVE COMPONENT dev)
  install(EXPORT epdxStaticTargets NAMESPACE epdx::
    DESTINATION ${EPDX_CMAKE_DIR} COMPONENT dev)
endif()

# The calls of a header that is left out are not in the library either.
file(GLOB EPDX_HEADERS CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/include/epdx/*.h)
if(NOT EPDX_HAVE_DLPACK)
  list(FILTER EPDX_HEADERS EXCLUDE REGEX /dlpack\\.h$)
endif()
install(FILES ${EPDX_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/epdx
  COMPONENT dev)

# CMake: find_package(epdx). Before 1.0 a new minor version may change calls.
configure_package_config_file(cmake/epdxConfig.cmake.in epdxConfig.cmake
  INSTALL_DESTINATION ${EPDX_CMAKE_DIR})
write_basic_package_version_file(epdxConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/epdxConfig.cmake
  ${PROJECT_BINARY_DIR}/epdxConfigVersion.cmake
  DESTINATION ${EPDX_CMAKE_DIR} COMPONENT dev)

# pkg-config. What the archive needs stands in Libs.private by its flags, and
# not in Requires.private, which would have it looked up by every user.
function(epdx_private_libs out)
  set(flags)
  foreach(library UCX CURL CJSON ZMQ MICROHTTPD)
    foreach(folder IN LISTS ${library}_LIBRARY_DIRS)
      list(APPEND flags -L${folder})
    endforeach()
    foreach(name IN LISTS ${library}_LIBRARIES)
      list(APPEND flags -l${name})
    endforeach()
  endforeach()
  list(APPEND flags ${MPI_C_LIBRARIES})
  if(EPDX_HAVE_CUDA)
    list(APPEND flags -L${EPDX_CUDA_LIBRARY_DIR} -lcudart)
  endif()
  if(EPDX_HAVE_NCCL)
    list(APPEND flags ${NCCL_LIBRARY})
  endif()
  list(APPEND flags -lpthread)
  list(JOIN flags " " joined)
  set(${out} "${joined}" PARENT_SCOPE)
endfunction()
epdx_private_libs(EPDX_PC_PRIVATE)
file(RELATIVE_PATH EPDX_PC_PREFIX /prefix/${EPDX_PC_DIR} /prefix)
string(REGEX REPLACE "/$" "" EPDX_PC_PREFIX ${EPDX_PC_PREFIX})
configure_file(cmake/epdx.pc.in epdx.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/epdx.pc DESTINATION ${EPDX_PC_DIR}
  COMPONENT dev)

# Manual pages: man/ has those of the programs and the overview; those of the
# calls are made of the public headers.
file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.[17])
foreach(page IN LISTS pages)
  get_filename_component(name ${page} NAME_WLE)
  string(REGEX MATCH "[17]$" section ${page})
  if(section EQUAL 7 OR TARGET ${name})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section}
      COMPONENT tools)
  endif()
endforeach()
find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
if(Python3_FOUND)
  set(EPDX_MAN3_DIR ${PROJECT_BINARY_DIR}/man3)
  set(stamp ${PROJECT_BINARY_DIR}/man3.stamp)
  add_custom_command(OUTPUT ${stamp}
    COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/scripts/man3.py
            ${EPDX_MAN3_DIR} ${EPDX_HEADERS}
    COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
    DEPENDS ${PROJECT_SOURCE_DIR}/scripts/man3.py ${EPDX_HEADERS}
    COMMENT "Manual pages of the calls" VERBATIM)
  add_custom_target(epdx_man3 ALL DEPENDS ${stamp})
  install(DIRECTORY ${EPDX_MAN3_DIR}/
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT dev)
else()
  message(STATUS "epdx: manual pages of section 3 left out: no Python 3.9 or "
                 "later was found (Debian: python3)")
endif()

install(FILES README.md CHANGELOG.md LICENSE
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT extra)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT extra)
# What reads traces and metrics; the dashboard.
install(DIRECTORY scripts/trace scripts/metrics
  DESTINATION ${CMAKE_INSTALL_DATADIR}/epdx COMPONENT tools
  USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE)

# A module for Lmod, which finds the prefix by its own place.
configure_file(scripts/packaging/lmod/epdx.lua.in epdx.lua @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/epdx.lua
  DESTINATION ${CMAKE_INSTALL_DATADIR}/modulefiles/epdx
  RENAME ${PROJECT_VERSION}.lua COMPONENT extra)

include(EpdxPackage)
