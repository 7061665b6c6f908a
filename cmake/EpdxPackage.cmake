# CPack: three Debian packages of the components lib, dev and tools. Build them
# with scripts/deb.sh, which configures as such packages need: prefix /usr, no
# run paths, and no CUDA, which Debian does not have.
include_guard(GLOBAL)

if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "the epdx authors")
# Who makes the packages, as Debian's own tools are told.
set(CPACK_PACKAGE_CONTACT "the epdx authors <epdx@localhost>")
if(DEFINED ENV{DEBEMAIL} AND DEFINED ENV{DEBFULLNAME})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL lib dev tools)
set(CPACK_COMPONENTS_GROUPING IGNORE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(about "epdx moves image, video and audio embeddings from the encode nodes of
a multimodal LLM server to its prefill ranks, over UCX and MPI, and tells
every prefill rank in the same step which requests may now run.
.
")

set(CPACK_DEBIAN_LIB_PACKAGE_NAME libepdx${EPDX_ABI})
set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIB_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_LIB_DESCRIPTION "${about}This package has the shared library.")
# The loader learns of it when dpkg has put it in place.
set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/scripts/packaging/deb/triggers)

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libepdx-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "libepdx${EPDX_ABI} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "libopenmpi-dev, pkg-config")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "libdlpack-dev")
set(CPACK_DEBIAN_DEV_DESCRIPTION "${about}This package has the headers, the files of pkg-config and CMake, and the
manual pages of the calls.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME epdx-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION net)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
# Traces and dashboards come with scripts.
set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS "python3:any")
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS "openmpi-bin")
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "${about}This package has the programs: an encode node and prefill ranks that
serve, receive and check embeddings, the discovery server, and what prints
settings and makes keys.")

# What Debian wants in a package beside the installed files.
set(CPACK_PRE_BUILD_SCRIPTS
  ${PROJECT_SOURCE_DIR}/scripts/packaging/deb/stage.cmake)
set(CPACK_EPDX_SOURCE_DIR ${PROJECT_SOURCE_DIR})
set(CPACK_EPDX_VERSION
  ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})
include(CPack)
