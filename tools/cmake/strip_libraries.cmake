# Run by cpack over what it has installed for the packages. The same libraries make the same bytes.
file(GLOB_RECURSE libraries "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.a")
foreach(library IN LISTS libraries)
  execute_process(COMMAND strip --strip-debug --enable-deterministic-archives "${library}"
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
