# Builds and runs tests/consumer/main.cpp in one of the ways a program can use Tenon.
#   cmake -DWAY=... -DBUILD=<this build> -DWORK=<scratch> -DSOURCE=<repository> -DCXX=<compiler> -P run.cmake
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
set(configure ${CMAKE_COMMAND} -G Ninja -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Release)

macro(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    message(FATAL_ERROR "failed: ${ARGN}\n${output}")
  endif()
endmacro()

if(NOT WAY STREQUAL "add_subdirectory")
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
endif()
if(WAY STREQUAL "find_package")
  run(${configure} -S ${SOURCE}/tests/consumer/find_package -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix)
elseif(WAY STREQUAL "add_subdirectory")
  run(${configure} -S ${SOURCE}/tests/consumer/add_subdirectory -B ${WORK}/build -DTENON_SOURCE=${SOURCE}
      -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DBUILD_SHARED_LIBS=ON)
else()
  file(GLOB pc ${WORK}/prefix/lib*/pkgconfig ${WORK}/prefix/lib/*/pkgconfig)
  set(ENV{PKG_CONFIG_PATH} ${pc})
  # The file was written for the build's own prefix; this one is elsewhere, as in a package being made.
  execute_process(COMMAND pkg-config --define-variable=prefix=${WORK}/prefix --cflags --libs tenon
                  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  file(MAKE_DIRECTORY ${WORK}/build)
  run(${CXX} ${SOURCE}/tests/consumer/main.cpp -o ${WORK}/build/consumer ${flags})
endif()
if(NOT WAY STREQUAL "pkg_config")
  run(${CMAKE_COMMAND} --build ${WORK}/build)
endif()
file(GLOB libdirs ${WORK}/prefix/lib ${WORK}/prefix/lib/*-linux-gnu)
string(REPLACE ";" ":" path "${libdirs}")
set(ENV{LD_LIBRARY_PATH} ${path})
run(${WORK}/build/consumer)
