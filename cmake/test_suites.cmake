# Read by ctest when it starts: makes a test of each suite of a program of tests. PROGRAM and DIRECTORY are set by the file
# that includes this (tenon_test in tests/CMakeLists.txt).
if(NOT EXISTS ${PROGRAM})
  add_test("${PROGRAM} has not been built" ${PROGRAM})
  return()
endif()
execute_process(COMMAND ${PROGRAM} --gtest_list_tests WORKING_DIRECTORY ${DIRECTORY}
  OUTPUT_VARIABLE listed RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${PROGRAM} does not list its tests: ${failed}")
endif()
get_filename_component(program ${PROGRAM} NAME)
# A suite begins its line, "Suite." or "Prefix/Suite/0.  # TypeParam = ...": its tests are indented.
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\.[^\n]*" suites "${listed}")
foreach(suite IN LISTS suites)
  string(REGEX MATCH "[A-Za-z0-9_/]+\\." suite "${suite}")
  string(REGEX REPLACE "\\.$" "" name "${program}.${suite}")  # several programs have a suite of one name
  add_test("${name}" ${PROGRAM} "--gtest_filter=${suite}*" --gtest_brief=1)
  set_tests_properties("${name}" PROPERTIES TIMEOUT 900 WORKING_DIRECTORY ${DIRECTORY})
endforeach()
