# cmake -D build=... -D work=... -D compiler=... [-D launcher=...] -P install_test.cmake
set(prefix "${work}/prefix")
set(consumer "${work}/consumer")
file(REMOVE_RECURSE "${prefix}" "${consumer}")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}")
# Whoever uses Millrace need not have what its tests are made of.
file(GLOB_RECURSE headers "${prefix}/include/*.h")
foreach(header IN LISTS headers)
  file(STRINGS "${header}" found REGEX "#include.*doctest|#include \"millrace/.*/testing/")
  if(found)
    message(FATAL_ERROR "${header} is for tests only, and was installed: ${found}")
  endif()
endforeach()

run("${CMAKE_COMMAND}" -G Ninja -S "${CMAKE_CURRENT_LIST_DIR}/consumer" -B "${consumer}"
    "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${compiler}"
    "-DCMAKE_CXX_COMPILER_LAUNCHER=${launcher}")
run("${CMAKE_COMMAND}" --build "${consumer}")
run("${consumer}/consumer")
