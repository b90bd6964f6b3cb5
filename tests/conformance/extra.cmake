include("${CMAKE_CURRENT_LIST_DIR}/hlo.cmake")
