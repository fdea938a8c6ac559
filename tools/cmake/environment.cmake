# <build>/env.sh: sourced, it puts the millrace command, the Python package and the interpreter that
# the package was built for on the paths.

file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/bin" "${PROJECT_BINARY_DIR}/python")
file(CREATE_LINK "${Python3_EXECUTABLE}" "${PROJECT_BINARY_DIR}/bin/python3" SYMBOLIC)
configure_file("${CMAKE_CURRENT_LIST_DIR}/env.sh.in" "${PROJECT_BINARY_DIR}/env.sh" @ONLY)
