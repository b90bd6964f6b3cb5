# The PostgreSQL tests with a private server (skipped where there is none).
add_test(NAME record_store_postgres
         COMMAND "${PROJECT_SOURCE_DIR}/scripts/with_postgres" "$<TARGET_FILE:hardware_test>"
                 "--gtest_filter=Postgres*")
set_tests_properties(record_store_postgres PROPERTIES LABELS ci SKIP_RETURN_CODE 77 TIMEOUT 300)

# Runs killed at random moments, on SQLite and on PostgreSQL: a few in ci, fifty each as the bar.
if(TARGET autotune)
  foreach(variant IN ITEMS ci:4 soak:50)
    string(REPLACE ":" ";" parts "${variant}")
    list(GET parts 0 label)
    list(GET parts 1 kills)
    set(command "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/hardware/run_kills.py"
                "$<TARGET_FILE:autotune>" "${PROJECT_SOURCE_DIR}/examples/alexnet/tpu_v3.pb"
                --runs ${kills})
    add_test(NAME run_kills_sqlite_${label} COMMAND ${command})
    add_test(NAME run_kills_postgres_${label}
             COMMAND "${PROJECT_SOURCE_DIR}/scripts/with_postgres" ${command} --postgres)
    set_tests_properties(run_kills_sqlite_${label} run_kills_postgres_${label}
                         PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77 TIMEOUT 1800)
  endforeach()
endif()

# A fleet on this machine (skipped where Ray is not installed); the bars as soak.
if(TARGET autotune AND TARGET autotune_ray)
  set(command "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/hardware/fleet_cluster.py"
              "$<TARGET_FILE:autotune>" "${PROJECT_SOURCE_DIR}/examples/alexnet/tpu_v3.pb")
  add_test(NAME fleet_cluster COMMAND ${command})
  add_test(NAME fleet_cluster_bars COMMAND ${command} --bars "$<TARGET_FILE:hardware_soak_test>")
  set_tests_properties(fleet_cluster PROPERTIES LABELS ci)
  set_tests_properties(fleet_cluster_bars PROPERTIES LABELS soak)
  set_tests_properties(fleet_cluster fleet_cluster_bars
                       PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900 RUN_SERIAL TRUE)
endif()
