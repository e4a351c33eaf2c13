# Runs PROGRAM (with ARGUMENT) and compares what it prints with the file EXPECTED.
execute_process(COMMAND ${PROGRAM} ${ARGUMENT} OUTPUT_VARIABLE printed ERROR_VARIABLE complaint RESULT_VARIABLE code)
file(READ ${EXPECTED} expected)
if(NOT code EQUAL 0 OR NOT printed STREQUAL expected)
  message(FATAL_ERROR "exit ${code}\n--- printed\n${printed}${complaint}\n--- expected\n${expected}")
endif()
