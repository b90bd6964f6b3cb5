# `cmake --install BUILD --prefix DIR`: the binary finds its data in ../share/autotune, relative to
# itself, so the prefix can be moved.

if(TARGET autotune)
  install(TARGETS autotune RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET autotune_torch)
  install(TARGETS autotune_torch LIBRARY DESTINATION lib/autotune)
endif()
foreach(directory examples weights)
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${directory}")
    install(
      DIRECTORY "${directory}"
      DESTINATION ${CMAKE_INSTALL_DATADIR}/autotune
      PATTERN "__pycache__" EXCLUDE
      PATTERN "CMakeLists.txt" EXCLUDE)
  endif()
endforeach()
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/autotune OPTIONAL)
