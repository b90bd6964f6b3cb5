# The command line from outside.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND AND TARGET autotune)
  add_test(NAME tuner_cli_test
           COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tests/tuner/cli/cli_test.py"
                   "$<TARGET_FILE:autotune>" "${PROJECT_SOURCE_DIR}")
  set_tests_properties(tuner_cli_test PROPERTIES LABELS ci TIMEOUT 600)
endif()

# Learned models, where LibTorch is there to build their module.
if(Python3_FOUND AND TARGET autotune AND TARGET autotune_torch)
  add_test(NAME tuner_learned_test
           COMMAND "${Python3_EXECUTABLE}" -B
                   "${PROJECT_SOURCE_DIR}/tests/tuner/cli/learned_test.py" "$<TARGET_FILE:autotune>"
                   "${PROJECT_SOURCE_DIR}" "$<TARGET_FILE:autotune_torch>")
  set_tests_properties(tuner_learned_test PROPERTIES LABELS ci TIMEOUT 600)
endif()
