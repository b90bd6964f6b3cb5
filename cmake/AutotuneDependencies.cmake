# Third-party libraries. All of the required ones are Debian 12 packages (scripts/setup installs them).

find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(Protobuf 3.21 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(TBB REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
if(AUTOTUNE_UNITY)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)  # cmake/unity.py
endif()

# Debian's libsoci-dev comes without a CMake package.
find_path(AUTOTUNE_SOCI_INCLUDE_DIR soci/soci.h REQUIRED)
foreach(part core sqlite3 postgresql)
  find_library(AUTOTUNE_SOCI_${part} soci_${part} REQUIRED)
  add_library(soci_${part} SHARED IMPORTED)
  set_target_properties(
    soci_${part} PROPERTIES IMPORTED_LOCATION "${AUTOTUNE_SOCI_${part}}"
                            INTERFACE_INCLUDE_DIRECTORIES "${AUTOTUNE_SOCI_INCLUDE_DIR}")
  add_library(SOCI::${part} ALIAS soci_${part})
endforeach()
# Its soci-config.h says that Boost is there, which pulls in 140 MB of headers for bindings of Boost
# types that nothing here uses. The header's guard and the one setting that matters replace it.
target_compile_definitions(soci_core INTERFACE SOCICONFIG_H_INCLUDED SOCI_HAVE_CXX11)
# Debian's build hides the type information of its classes, which UBSan's check of virtual calls needs.
if(AUTOTUNE_SANITIZE)
  target_compile_options(soci_core INTERFACE -fno-sanitize=vptr)
endif()
target_link_libraries(soci_core INTERFACE ${CMAKE_DL_LIBS})
target_link_libraries(soci_sqlite3 INTERFACE soci_core SQLite::SQLite3)
target_link_libraries(soci_postgresql INTERFACE soci_core)

# Optional: the C header of the PJRT API, from a plugin's Python package (scripts/setup_aot).
file(GLOB_RECURSE AUTOTUNE_PJRT_HEADERS "${PROJECT_SOURCE_DIR}/.deps/*/pjrt_c_api.h")
set(AUTOTUNE_PJRT_HINTS)
foreach(header IN LISTS AUTOTUNE_PJRT_HEADERS)
  cmake_path(GET header PARENT_PATH directory)
  list(APPEND AUTOTUNE_PJRT_HINTS "${directory}")
endforeach()
find_path(AUTOTUNE_PJRT_INCLUDE_DIR pjrt_c_api.h HINTS ${AUTOTUNE_PJRT_HINTS})
