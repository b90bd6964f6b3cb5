# The command line from outside.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND TARGET autotune)
  add_test(NAME tuner_cli_test
           COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tests/tuner/cli/cli_test.py"
                   "$<TARGET_FILE:autotune>" "${PROJECT_SOURCE_DIR}")
  set_tests_properties(tuner_cli_test PROPERTIES LABELS ci TIMEOUT 600)
endif()
