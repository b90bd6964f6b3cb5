# Backends against a PJRT plugin that misbehaves (needs the C header: ./autotune --with aot).
if(AUTOTUNE_PJRT_INCLUDE_DIR)
  set(fault "${PROJECT_SOURCE_DIR}/tests/fault")
  add_library(autotune_fake_plugin MODULE "${fault}/fake_plugin.cc" "${fault}/fake_profiler.cc")
  target_include_directories(autotune_fake_plugin SYSTEM PRIVATE "${AUTOTUNE_PJRT_INCLUDE_DIR}")
  target_include_directories(autotune_fake_plugin PRIVATE "${PROJECT_SOURCE_DIR}")
  target_compile_options(autotune_fake_plugin PRIVATE -fvisibility=hidden)
  # Beside the worker and not below the sanitizers of the tests.
  set_target_properties(
    autotune_fake_plugin PROPERTIES PREFIX "" OUTPUT_NAME fake_plugin LIBRARY_OUTPUT_DIRECTORY
                                                                      "${PROJECT_BINARY_DIR}/tests")
  # One at a time: they count the machine's processes that have the plugin loaded.
  autotune_gtest_program(
    fault_test ci "${fault}/aot_fault_test.cc;${fault}/pjrt_fault_test.cc" autotune_hardware
    RESOURCE_LOCK fake_plugin)
  target_compile_definitions(
    fault_test PRIVATE "AUTOTUNE_FAKE_PLUGIN=\"$<TARGET_FILE:autotune_fake_plugin>\"")
  add_dependencies(fault_test autotune_worker autotune_fake_plugin)
endif()
