# The PJRT C header names members of a struct like their types, as C may.
file(GLOB pjrt_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/pjrt_*.cc")
set_source_files_properties(${pjrt_sources} PROPERTIES COMPILE_OPTIONS "-Wno-pedantic")

# The process that loads PJRT plugins, which may crash: autotune starts and watches it. It is found
# beside the command or in ../libexec/autotune (hardware/worker_process.h).
add_executable(autotune_worker "${CMAKE_CURRENT_SOURCE_DIR}/worker_main.cc")
target_link_libraries(autotune_worker PRIVATE autotune_hardware autotune_flags)
set_target_properties(
  autotune_worker PROPERTIES OUTPUT_NAME autotune-worker RUNTIME_OUTPUT_DIRECTORY
                                                         "${PROJECT_BINARY_DIR}/bin")
install(TARGETS autotune_worker RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/autotune")

# What measures on the hosts of a fleet, and the library between autotune and Ray.
add_executable(autotune_fleet_worker "${CMAKE_CURRENT_SOURCE_DIR}/fleet_worker_main.cc")
target_link_libraries(autotune_fleet_worker PRIVATE autotune_hardware autotune_flags)
set_target_properties(
  autotune_fleet_worker PROPERTIES OUTPUT_NAME autotune-fleet-worker
                                   RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
install(TARGETS autotune_fleet_worker RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/autotune")
add_subdirectory(ray)
