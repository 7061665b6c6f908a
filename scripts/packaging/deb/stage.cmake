# Run by CPack on the files of each package before it is packed: compresses the
# manual pages, and adds the licence, the changelog, and what lintian is told.
file(GLOB packages ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
file(TIMESTAMP ${CPACK_EPDX_SOURCE_DIR}/CHANGELOG.md date
  "%a, %d %b %Y %H:%M:%S +0000" UTC)

foreach(folder IN LISTS packages)
  get_filename_component(component ${folder} NAME)
  string(TOUPPER ${component} COMPONENT)
  set(package ${CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME})
  set(doc ${folder}/usr/share/doc/${package})

  # Links between pages keep their name: man finds what it leads to.
  file(GLOB_RECURSE pages ${folder}/usr/share/man/*.[1-9])
  if(pages)
    execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
  endif()

  file(READ ${CPACK_EPDX_SOURCE_DIR}/LICENSE licence)
  file(WRITE ${doc}/copyright "epdx\n\n${licence}")
  file(WRITE ${doc}/changelog.Debian
"epdx (${CPACK_EPDX_VERSION}) unstable; urgency=medium

  * See changelog.gz.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
  configure_file(${CPACK_EPDX_SOURCE_DIR}/CHANGELOG.md ${doc}/changelog
    COPYONLY)
  execute_process(COMMAND gzip -9n ${doc}/changelog.Debian ${doc}/changelog
    COMMAND_ERROR_IS_FATAL ANY)

  # The packages are no upload to Debian; CPack calls ldconfig beside the
  # trigger, which does no harm.
  set(said "${package}: initial-upload-closes-no-bugs *\n")
  if(component STREQUAL "lib")
    string(APPEND said "${package}: maintscript-calls-ldconfig *\n")
  endif()
  file(WRITE ${folder}/usr/share/lintian/overrides/${package} "${said}")
endforeach()
