# Debian packages, one per component of install.cmake, by `cpack -G DEB`; tools/dist calls it. What
# their programs and modules need, dpkg-shlibdeps says; what it can't see stands here.
find_program(MILLRACE_DPKG dpkg-shlibdeps)
if(NOT MILLRACE_DPKG)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME millrace)
set(CPACK_PACKAGE_CONTACT "Millrace's maintainers <maintainers@millrace.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_COMPONENTS_ALL command development)
if(MILLRACE_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
# CPack strips programs and modules; static libraries lose their debug lines here.
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/strip_libraries.cmake")

# oneDNN is loaded by name on first use: convolutions and large products are slower without it.
file(STRINGS "${MILLRACE_HAS_oneapi/dnnl/dnnl.h}/oneapi/dnnl/dnnl_version.h" dnnl_major
  REGEX "define +DNNL_VERSION_MAJOR +[0-9]+")
string(REGEX MATCH "[0-9]+$" dnnl_major "${dnnl_major}")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME millrace)
set(CPACK_COMPONENT_COMMAND_DESCRIPTION
  "The command: serves tasks, starts jobs here and on clusters, inspects what they leave.")
# OpenSSL is loaded by name, too, but nothing does without it that calls it.
string(REGEX MATCH "^[0-9]+" openssl_major "${OPENSSL_VERSION}")
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "libssl${openssl_major}")
# `millrace check` and `millrace inspect` are written in Python.
# libcurl likewise, where files are in S3 or HDFS; its certificates are a package of their own.
set(CPACK_DEBIAN_COMMAND_PACKAGE_RECOMMENDS
  "python3-millrace, libdnnl${dnnl_major}, libcurl4, ca-certificates")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-millrace)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION
  "The Python package: reads like TensorFlow 1's graph API.")
if(MILLRACE_PYTHON)
  # The module is made for one minor version of Python, and for one ABI of NumPy.
  math(EXPR next_minor "${Python3_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "python3 (>= 3.${Python3_VERSION_MINOR}~), python3 (<< 3.${next_minor}), python3-numpy, python3-numpy-abi9")
endif()
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS
  "millrace, libdnnl${dnnl_major}, libcurl4, ca-certificates")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA
  "${CMAKE_CURRENT_LIST_DIR}/debian/postinst;${CMAKE_CURRENT_LIST_DIR}/debian/prerm")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmillrace-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
  "For programs in C++: headers, static libraries and the package Millrace for CMake.")
list(JOIN MILLRACE_DEBIAN_PACKAGES_TO_LINK ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
  string(TOUPPER ${component} upper)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" RENAME copyright COMPONENT ${component}
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
endforeach()
# What is compiled or taken in (taken_in.cmake) keeps its licence: of the command and of the module.
set(in_both libspdlog-dev libfmt-dev nlohmann-json3-dev libeigen3-dev)
string(REGEX MATCH "^[0-9]+" compiler_major "${CMAKE_CXX_COMPILER_VERSION}")
set(in_command ${in_both} libgrpc-dev libabsl-dev libprotobuf-dev libre2-dev libleveldb-dev
  libsnappy-dev libfarmhash-dev libyaml-cpp-dev libcli11-dev "libstdc++-${compiler_major}-dev")
set(in_python ${in_both} pybind11-dev)
foreach(component IN ITEMS command python)
  string(TOUPPER ${component} upper)
  foreach(taken IN LISTS in_${component})
    if(EXISTS "/usr/share/doc/${taken}/copyright")
      install(FILES "/usr/share/doc/${taken}/copyright" RENAME copyright.${taken}
        COMPONENT ${component}
        DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
    else()
      message(STATUS "packages: there is no licence of ${taken} on this machine to go along")
    endif()
  endforeach()
endforeach()
include(CPack)
