# Differential tests of the HLO front end against XLA through jaxlib; skipped where jaxlib is absent.

add_executable(hlo_convert "${CMAKE_CURRENT_LIST_DIR}/hlo_convert_main.cc")
target_link_libraries(hlo_convert PRIVATE autotune_hlo autotune_flags)

# A differential test of that name: `... differential_hlo.py ARGUMENTS`, run in a shell.
function(autotune_differential_hlo_test name arguments)
  set(here "${PROJECT_SOURCE_DIR}/tests/conformance")
  add_test(
    NAME conformance.${name}
    COMMAND
      sh -c
      "python='${AUTOTUNE_VENV}/bin/python'; [ -x \"$python\" ] || python='${Python3_EXECUTABLE}'; \
run=\"$python -B ${here}/differential_hlo.py --binary $<TARGET_FILE:hlo_convert> --root ${PROJECT_SOURCE_DIR}\"; \
${arguments}")
  set_tests_properties(conformance.${name} PROPERTIES LABELS ci TIMEOUT 900 SKIP_RETURN_CODE 77)
endfunction()

autotune_differential_hlo_test(hlo_cases "exec $run --cases")
# One module for each operation of JAX.
autotune_differential_hlo_test(
  hlo_jax_modules
  "$python -c 'import jaxlib._hlo' 2>/dev/null || exit 77; out=$(mktemp -d) && \
$python -B ${PROJECT_SOURCE_DIR}/tests/conformance/generate_modules.py $out >/dev/null && $run $out/*.hlo; \
code=$?; rm -rf $out; exit $code")
if(AUTOTUNE_SHARED_DIR)
  autotune_differential_hlo_test(hlo_programs "exec $run ${AUTOTUNE_SHARED_DIR}/data/programs/*.hlo")
endif()

# Costs, against hlo_module_cost_analysis.
add_executable(hlo_costs "${CMAKE_CURRENT_LIST_DIR}/hlo_costs_main.cc")
target_link_libraries(hlo_costs PRIVATE autotune_hlo autotune_flags)
set(autotune_programs)
if(AUTOTUNE_SHARED_DIR)
  file(GLOB autotune_programs "${AUTOTUNE_SHARED_DIR}/data/programs/*.hlo")
endif()
add_test(
  NAME conformance.hlo_costs
  COMMAND
    sh -c
    "python='${AUTOTUNE_VENV}/bin/python'; [ -x \"$python\" ] || python='${Python3_EXECUTABLE}'; \
exec \"$python\" -B \"$@\""
    sh "${PROJECT_SOURCE_DIR}/tests/conformance/differential_costs.py" --binary
    $<TARGET_FILE:hlo_costs> --generate --cases ${autotune_programs})
set_tests_properties(conformance.hlo_costs PROPERTIES LABELS ci TIMEOUT 900 SKIP_RETURN_CODE 77)
