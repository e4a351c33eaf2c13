# How the parts of Tenon are built: the options of our own targets, a layer (a folder of src/), and a link unit.
include(GNUInstallDirs)
find_package(Threads REQUIRED)
find_package(hwy REQUIRED)
# Its own package file asks for the headers of OpenCL, which nothing here uses.
find_path(TENON_ONEDNN_INCLUDE dnnl.hpp REQUIRED)
find_library(TENON_ONEDNN_LIBRARY dnnl REQUIRED)
mark_as_advanced(TENON_ONEDNN_INCLUDE TENON_ONEDNN_LIBRARY)

# Used by our own targets only, so that a consumer never inherits them.
add_library(tenon_options INTERFACE)
target_compile_features(tenon_options INTERFACE cxx_std_20)
if(TENON_DEVELOPER)
  target_compile_options(tenon_options INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
    -Wold-style-cast -Wunused -Werror
    # g++ 12 sees overlapping copies in std::string::insert that are not there, and takes a constructor's parameter for a
    # shadow of the member it sets.
    $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local$<SEMICOLON>-Wno-restrict>
    $<$<CXX_COMPILER_ID:Clang>:-Wshadow>)
endif()
if(TENON_ASSERTIONS)
  target_compile_definitions(tenon_options INTERFACE TENON_ASSERTIONS _GLIBCXX_ASSERTIONS)
endif()
if(TENON_SANITIZERS)
  target_compile_definitions(tenon_options INTERFACE TENON_SANITIZED)
  target_compile_options(tenon_options INTERFACE -fsanitize=${TENON_SANITIZERS} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tenon_options INTERFACE -fsanitize=${TENON_SANITIZERS})
  # Programs of a hundred megabytes, linked in a third of the time.
  find_program(TENON_LLD NAMES ld.lld-19)
  mark_as_advanced(TENON_LLD)
  if(TENON_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_link_options(tenon_options INTERFACE -fuse-ld=${TENON_LLD})
  endif()
endif()

if(TENON_DEVELOPER)
  find_program(TENON_CCACHE ccache)
  mark_as_advanced(TENON_CCACHE)
  if(TENON_CCACHE)
    # Without this ccache does not keep what was compiled with precompiled headers.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${TENON_CCACHE})
  endif()
endif()

function(tenon_objects target)
  add_library(${target} OBJECT ${ARGN})
  target_link_libraries(${target} PRIVATE tenon_options)
  # A multiply and an add are fused where the source says so, and nowhere else: results are the same on every machine.
  target_compile_options(${target} PRIVATE -ffp-contract=off)
  # Exported functions may call each other directly, as in a static library.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# tenon_unoptimised_with_sanitizers(target or sources...): where every access is checked, an optimiser takes twice the time
# for code that decides and calls, and a minute for many instantiations. What runs over elements is optimised.
function(tenon_unoptimised_with_sanitizers)
  if(TENON_SANITIZERS AND TARGET "${ARGV0}")
    target_compile_options(${ARGV0} PRIVATE -O0)
  elseif(TENON_SANITIZERS)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -O0 SKIP_PRECOMPILE_HEADERS ON)
  endif()
endfunction()

# The headers most files include, compiled once: the standard ones, and for operators and layers our own too. Every file still
# includes what it uses: `./dev lint` compiles them without.
if(TENON_PRECOMPILED_HEADERS)
  set(standard_headers
    <algorithm> <array> <atomic> <bit> <charconv> <cmath> <complex> <cstdint> <cstring> <functional> <limits> <map> <memory>
    <mutex> <optional> <ostream> <span> <string> <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector>)
  tenon_objects(tenon_standard_headers ${CMAKE_CURRENT_LIST_DIR}/empty.cpp)
  target_precompile_headers(tenon_standard_headers PRIVATE ${standard_headers})
  tenon_objects(tenon_operator_headers ${CMAKE_CURRENT_LIST_DIR}/empty.cpp)
  target_precompile_headers(tenon_operator_headers PRIVATE ${standard_headers}
    <tenon/ops/arithmetic.h> <tenon/extend/custom_op.h> <tenon/error.h> <tenon/ops/factories.h> <tenon/extend/gradient.h> <tenon/ops/ops.h>)
  # From there g++ 12 does not know that they are the system's, and warns of what its optimiser makes of them.
  set(precompiled_options $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized$<SEMICOLON>-Wno-array-bounds>
    $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow$<SEMICOLON>-Wno-stringop-overread$<SEMICOLON>-Wno-free-nonheap-object>)
  target_compile_options(tenon_standard_headers PRIVATE ${precompiled_options})
  target_compile_options(tenon_operator_headers PRIVATE ${precompiled_options})
  tenon_unoptimised_with_sanitizers(tenon_operator_headers)
endif()

# tenon_precompile(target headers...): the headers that the target's files, or those of targets that reuse them, include.
function(tenon_precompile target)
  if(TENON_PRECOMPILED_HEADERS)
    target_compile_options(${target} PRIVATE ${precompiled_options})
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
function(tenon_reuse_precompiled target other)
  if(TENON_PRECOMPILED_HEADERS)
    target_compile_options(${target} PRIVATE ${precompiled_options})
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()

# tenon_layer(name sources...): one folder of src/, compiled once.
function(tenon_layer name)
  tenon_objects(layer_${name} ${ARGN})
  if(name MATCHES "^(ops|nn|optim|load)$")
    tenon_unoptimised_with_sanitizers(layer_${name})
    tenon_reuse_precompiled(layer_${name} tenon_operator_headers)
  else()
    tenon_reuse_precompiled(layer_${name} tenon_standard_headers)
  endif()
endfunction()

# tenon_link_unit(target EXPORT_AS name FROM layers... [LINK units...] [USE libraries...]): a library that programs link, and
# the libraries it uses itself.
function(tenon_link_unit target)
  cmake_parse_arguments(unit "" "EXPORT_AS" "FROM;LINK;USE" ${ARGN})
  add_library(${target})
  add_library(tenon::${unit_EXPORT_AS} ALIAS ${target})
  foreach(layer IN LISTS unit_FROM)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:layer_${layer}>)
  endforeach()
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC Threads::Threads ${unit_LINK} PRIVATE ${unit_USE} $<BUILD_INTERFACE:tenon_options>)
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    EXPORT_NAME ${unit_EXPORT_AS})
  # A function that another library has and does not export is missed here, not by the first program that links.
  if(BUILD_SHARED_LIBS AND NOT TENON_SANITIZERS AND NOT APPLE)
    target_link_options(${target} PRIVATE LINKER:-z,defs)
  endif()
endfunction()
