# The language level, the warnings, the sanitizers, and what makes builds quick.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # static libraries also go into the torch module

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
# -O2 compiles a quarter faster than CMake's -O3 and the hot loops here gain nothing from the rest.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "Flags of release builds" FORCE)

# Nothing that is built names the folder that it was built in.
add_compile_options("-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")

find_program(AUTOTUNE_CCACHE ccache)
if(AUTOTUNE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${AUTOTUNE_CCACHE}")
endif()

find_program(AUTOTUNE_MOLD mold)
if(AUTOTUNE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# An interface library that every target of our own links; generated code does not.
add_library(autotune_flags INTERFACE)
target_compile_definitions(autotune_flags INTERFACE "AUTOTUNE_VERSION=\"${PROJECT_VERSION}\"")
target_compile_options(
  autotune_flags
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            -Wcast-qual
            -Wunused
            # Designated initialisers leave fields out on purpose: each has its default.
            -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(
    autotune_flags
    INTERFACE -Wduplicated-cond
              -Wlogical-op
              # GCC 12 reports both of these wrongly inside std::string's operator+ (GCC bug 105329)
              # and inside absl::InlinedVector and std::optional (GCC bug 80635).
              -Wno-restrict
              -Wno-maybe-uninitialized)
endif()
if(AUTOTUNE_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # What files say about each other when they are compiled as one is no fault.
  target_compile_options(autotune_flags INTERFACE -Wno-subobject-linkage -Wno-shadow -Wshadow=local)
endif()
if(AUTOTUNE_WARNINGS_AS_ERRORS)
  target_compile_options(autotune_flags INTERFACE -Werror)
endif()

if(AUTOTUNE_SANITIZE)
  add_compile_options(-fsanitize=${AUTOTUNE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all -g1)
  add_link_options(-fsanitize=${AUTOTUNE_SANITIZE})
endif()
