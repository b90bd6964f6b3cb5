# Functions that make the project's targets from folders. Files are found by pattern, so that adding
# a source file needs no change here.

# autotune_protos()
#
# The library autotune_proto: the classes that protoc generates from proto/*.proto, included as
# "proto/NAME.pb.h". Generated code is compiled without our warnings and its headers count as a
# system's.
function(autotune_protos)
  set(generated "${PROJECT_BINARY_DIR}/generated")
  file(GLOB protos CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/proto/*.proto")
  if(NOT protos)
    add_library(autotune_proto INTERFACE)
    return()
  endif()
  file(MAKE_DIRECTORY "${generated}/proto")
  set(sources)
  foreach(proto IN LISTS protos)
    cmake_path(GET proto STEM name)
    set(outputs "${generated}/proto/${name}.pb.cc" "${generated}/proto/${name}.pb.h")
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND protobuf::protoc "--cpp_out=${generated}" "-I${PROJECT_SOURCE_DIR}" "${proto}"
      DEPENDS ${protos} protobuf::protoc
      COMMENT "Generating proto/${name}.pb.h"
      VERBATIM)
    list(APPEND sources ${outputs})
  endforeach()
  add_library(autotune_proto STATIC ${sources})
  target_include_directories(autotune_proto SYSTEM PUBLIC "${generated}")
  target_link_libraries(autotune_proto PUBLIC protobuf::libprotobuf)
  target_compile_options(autotune_proto PRIVATE -w)
  # As little under test as the library that it calls, and with sanitizers it takes minutes to compile.
  if(AUTOTUNE_SANITIZE)
    target_compile_options(autotune_proto PRIVATE -fno-sanitize=all)
  endif()
endfunction()

# autotune_unity(TARGET)
#
# With AUTOTUNE_UNITY, the sources of TARGET are compiled several at a time, those that share no names
# (cmake/unity.py): a third of the time. An edit may give a source a name that its neighbour has, so
# each edit configures again, which takes a second or two.
function(autotune_unity target)
  if(NOT AUTOTUNE_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/cmake/unity.py" ${AUTOTUNE_UNITY} ${sources}
    OUTPUT_VARIABLE groups COMMAND_ERROR_IS_FATAL ANY)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  while(groups)
    list(POP_FRONT groups number source)
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${target}_${number}")
  endwhile()
endfunction()

# autotune_library(FOLDER [DEPENDS FOLDER...] [LINK LIBRARY...])
#
# The static library autotune_FOLDER from FOLDER/*.cc, without *_main.cc and main.cc (programs) and
# torch_*.cc (the module that links LibTorch). DEPENDS names the folders that it may include.
function(autotune_library folder)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.cc")
  list(FILTER sources EXCLUDE REGEX "/(main|[^/]*_main|torch_[^/]*)\\.cc$")
  list(TRANSFORM ARG_DEPENDS PREPEND autotune_)
  if(sources)
    add_library(autotune_${folder} STATIC ${sources})
    target_include_directories(autotune_${folder} PUBLIC "${PROJECT_SOURCE_DIR}")
    target_link_libraries(autotune_${folder} PUBLIC ${ARG_DEPENDS} ${ARG_LINK} Threads::Threads)
    target_link_libraries(autotune_${folder} PRIVATE autotune_flags)
    autotune_unity(autotune_${folder})
  else()
    add_library(autotune_${folder} INTERFACE)
    target_include_directories(autotune_${folder} INTERFACE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(autotune_${folder} INTERFACE ${ARG_DEPENDS} ${ARG_LINK})
  endif()
endfunction()

# autotune_test(FOLDER [LINK LIBRARY...])
#
# The GoogleTest program FOLDER_test from tests/FOLDER/*.cc (label ci), and FOLDER_soak_test from
# tests/FOLDER/*_soak_test.cc (label soak). The tests know the macros AUTOTUNE_SOURCE_DIR (the
# checkout) and AUTOTUNE_SHARED_DIR (more recorded data beside the checkout; "" when there is none).
function(autotune_test folder)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${folder}/*.cc")
  list(FILTER sources EXCLUDE REGEX "(_main|_bench|_fuzzer)\\.cc$")
  set(soak_sources ${sources})
  list(FILTER soak_sources INCLUDE REGEX "_soak_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_soak_test\\.cc$")
  if(sources)
    autotune_gtest_program(${folder}_test ci "${sources}" "${ARG_LINK}")
  endif()
  if(soak_sources)
    autotune_gtest_program(${folder}_soak_test soak "${soak_sources}" "${ARG_LINK}")
  endif()
  include("${PROJECT_SOURCE_DIR}/tests/${folder}/extra.cmake" OPTIONAL)
endfunction()

# autotune_gtest_program(NAME LABEL SOURCES LIBRARIES [PROPERTY VALUE...]): one GoogleTest program,
# known to ctest; the properties are those of its tests.
function(autotune_gtest_program name label sources libraries)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ${libraries} GTest::gmock GTest::gtest_main autotune_flags)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  # Tests call optimised code, but are not worth optimising: that takes two fifths of compiling them.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  autotune_unity(${name})
  target_compile_definitions(
    ${name} PRIVATE "AUTOTUNE_SOURCE_DIR=\"${PROJECT_SOURCE_DIR}\""
                    "AUTOTUNE_SHARED_DIR=\"${AUTOTUNE_SHARED_DIR}\"")
  gtest_discover_tests(
    ${name}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    TEST_PREFIX "${name}."
    PROPERTIES LABELS ${label} TIMEOUT 600 ENVIRONMENT "AUTOTUNE_SHARED_DIR=${AUTOTUNE_SHARED_DIR}"
               ${ARGN})
endfunction()

# autotune_python_test(NAME SCRIPT [ARGS...])
#
# A ctest test of the label ci that runs SCRIPT with the Python of AUTOTUNE_VENV, in which ./test.sh
# installs jaxlib (tests/conformance/requirements.txt). Skipped where that environment is absent.
function(autotune_python_test name script)
  set(python "${AUTOTUNE_VENV}/bin/python")
  add_test(
    NAME ${name}
    COMMAND sh -c "test -x '${python}' || { echo 'no jaxlib: run ./test.sh'; exit 77; }; exec \"$@\""
            sh "${python}" -B "${script}" ${ARGN})
  set_tests_properties(
    ${name} PROPERTIES LABELS ci SKIP_RETURN_CODE 77 TIMEOUT 600
                       ENVIRONMENT "AUTOTUNE_SHARED_DIR=${AUTOTUNE_SHARED_DIR};JAX_PLATFORMS=cpu")
endfunction()
