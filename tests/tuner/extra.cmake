# The command line from outside.
if(Python3_FOUND AND TARGET autotune)
  add_test(NAME tuner_cli_test
           COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tests/tuner/cli/cli_test.py"
                   "$<TARGET_FILE:autotune>" "${PROJECT_SOURCE_DIR}")
  set_tests_properties(tuner_cli_test PROPERTIES LABELS ci TIMEOUT 600)
endif()

# Records, and what may go wrong with them.
if(Python3_FOUND AND TARGET autotune)
  add_test(NAME tuner_records_test
           COMMAND "${Python3_EXECUTABLE}" -B
                   "${PROJECT_SOURCE_DIR}/tests/tuner/cli/records_test.py" "$<TARGET_FILE:autotune>"
                   "${PROJECT_SOURCE_DIR}")
  set_tests_properties(tuner_records_test PROPERTIES LABELS ci TIMEOUT 300)
endif()

# apply, with what is installed of libtpu, a CPU plugin and jaxlib.
if(Python3_FOUND AND TARGET autotune)
  add_test(NAME tuner_apply_test
           COMMAND "${Python3_EXECUTABLE}" -B
                   "${PROJECT_SOURCE_DIR}/tests/tuner/cli/apply_test.py" "$<TARGET_FILE:autotune>"
                   "${PROJECT_SOURCE_DIR}")
  set_tests_properties(tuner_apply_test PROPERTIES LABELS ci TIMEOUT 600 ENVIRONMENT
                                                   "AUTOTUNE_PYTHON=${AUTOTUNE_VENV}/bin/python")
endif()

# Reports: their JSON against its schemas, their pages in a browser. Debian's Python, whose modules
# scripts/setup installs; the tests skip themselves where something is missing.
find_program(AUTOTUNE_DEBIAN_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(AUTOTUNE_DEBIAN_PYTHON AND TARGET autotune)
  add_test(NAME tuner_schema_test
           COMMAND "${AUTOTUNE_DEBIAN_PYTHON}" -B
                   "${PROJECT_SOURCE_DIR}/tests/tuner/cli/schema_test.py" "$<TARGET_FILE:autotune>"
                   "${PROJECT_SOURCE_DIR}")
  set_tests_properties(tuner_schema_test PROPERTIES LABELS ci TIMEOUT 300)
  add_test(NAME tuner_report_command_test
           COMMAND "${AUTOTUNE_DEBIAN_PYTHON}" -B
                   "${PROJECT_SOURCE_DIR}/tests/tuner/cli/report_command_test.py"
                   "$<TARGET_FILE:autotune>" "${PROJECT_SOURCE_DIR}")
  set_tests_properties(tuner_report_command_test PROPERTIES LABELS ci TIMEOUT 300)
  add_test(NAME tuner_report_pages_test
           COMMAND "${AUTOTUNE_DEBIAN_PYTHON}" -B "${PROJECT_SOURCE_DIR}/tests/golden/report_test.py"
                   "$<TARGET_FILE:autotune>" "${PROJECT_SOURCE_DIR}")
  # Its timing would suffer from neighbours.
  set_tests_properties(tuner_report_pages_test PROPERTIES LABELS ci TIMEOUT 600 RUN_SERIAL ON)
endif()

# Learned models, where LibTorch is there to build their module.
if(Python3_FOUND AND TARGET autotune AND TARGET autotune_torch)
  add_test(NAME tuner_learned_test
           COMMAND "${Python3_EXECUTABLE}" -B
                   "${PROJECT_SOURCE_DIR}/tests/tuner/cli/learned_test.py" "$<TARGET_FILE:autotune>"
                   "${PROJECT_SOURCE_DIR}" "$<TARGET_FILE:autotune_torch>")
  set_tests_properties(tuner_learned_test PROPERTIES LABELS ci TIMEOUT 600)
endif()
