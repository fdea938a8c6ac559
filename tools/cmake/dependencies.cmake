# Everything that Millrace uses and did not write. Each find fails with the Debian package to
# install; tools/setup installs them all. MILLRACE_DEBIAN_PACKAGES lists those packages.

macro(millrace_find package debian)
  string(REPLACE " " ";" names "${debian}")
  list(APPEND MILLRACE_DEBIAN_PACKAGES ${names})
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "Millrace needs ${package}: install the Debian package(s) '${debian}', "
                        "or run tools/setup, which installs all that is missing.")
  endif()
endmacro()

# What brings nothing for CMake along is linked by its name.
macro(millrace_find_header header debian)
  list(APPEND MILLRACE_DEBIAN_PACKAGES ${debian})
  find_path(MILLRACE_HAS_${header} ${header})
  mark_as_advanced(MILLRACE_HAS_${header})
  if(NOT MILLRACE_HAS_${header})
    message(FATAL_ERROR "Millrace needs <${header}>: install the Debian package '${debian}', "
                        "or run tools/setup, which installs all that is missing.")
  endif()
endmacro()

# Debian's own interpreter, not the first one on PATH: NumPy and the headers are its packages.
set(Python3_EXECUTABLE /usr/bin/python3 CACHE FILEPATH "The interpreter that the module is for")

millrace_find(Threads "libc6-dev")
millrace_find(Protobuf "libprotobuf-dev protobuf-compiler")
millrace_find(absl "libabsl-dev" CONFIG)
millrace_find(gRPC "libgrpc++-dev protobuf-compiler-grpc" CONFIG)
millrace_find(nlohmann_json "nlohmann-json3-dev" CONFIG)
millrace_find(CLI11 "libcli11-dev" CONFIG)
millrace_find(leveldb "libleveldb-dev libsnappy-dev" CONFIG)
millrace_find(IsaL "libisal-dev")
# The library is loaded when a kernel first needs it (ops/onednn). Its own package file would ask for
# OpenCL's headers too, which Debian only recommends beside it.
millrace_find_header(oneapi/dnnl/dnnl.h "libdnnl-dev")
# Likewise, when a remote path is first named (io/remote).
millrace_find_header(curl/curl.h "libcurl4-openssl-dev")
millrace_find_header(farmhash.h "libfarmhash-dev")
millrace_find_header(re2/re2.h "libre2-dev")
millrace_find_header(unicase.h "libunistring-dev")
millrace_find(EXPAT "libexpat1-dev")
millrace_find(ZLIB "zlib1g-dev")
millrace_find(PNG "libpng-dev")
millrace_find(JPEG "libjpeg62-turbo-dev")
millrace_find(GIF "libgif-dev")
millrace_find(yaml-cpp "libyaml-cpp-dev" CONFIG)
millrace_find(OpenSSL "libssl-dev")
millrace_find(Eigen3 "libeigen3-dev" CONFIG)
# What follows is for our own build, so programs that link Millrace do without.
set(MILLRACE_DEBIAN_PACKAGES_TO_LINK ${MILLRACE_DEBIAN_PACKAGES})

# Compiled into the one file that writes with it.
millrace_find_header(spdlog/spdlog.h "libspdlog-dev")
millrace_find_header(fmt/format.h "libfmt-dev")

if(MILLRACE_TESTS)
  millrace_find(doctest "doctest-dev" CONFIG)
  # An assertion becomes one call: far less to compile in tests, which have hundreds of them each.
  set_property(TARGET doctest::doctest APPEND PROPERTY
    INTERFACE_COMPILE_DEFINITIONS DOCTEST_CONFIG_SUPER_FAST_ASSERTS)
endif()

if(MILLRACE_PYTHON)
  millrace_find(Python3 "python3-dev python3-numpy" COMPONENTS Interpreter Development.Module NumPy)
  # After Python3: pybind11 then uses that one instead of searching for its own.
  millrace_find(pybind11 "pybind11-dev" CONFIG)
else()
  millrace_find(Python3 "python3" COMPONENTS Interpreter)
endif()
