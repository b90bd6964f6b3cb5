# What the HTML reports carry inside themselves becomes part of the library: style sheet, script,
# and Chart.js from Debian's package libjs-chart.js.
find_file(AUTOTUNE_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js REQUIRED)
set(report_assets "ReportCss=${CMAKE_CURRENT_SOURCE_DIR}/report/report.css"
                  "ReportJs=${CMAKE_CURRENT_SOURCE_DIR}/report/report.js"
                  "ChartJs=${AUTOTUNE_CHART_JS}")
string(REPLACE ";" "," report_assets "${report_assets}")
set(report_assets_source "${PROJECT_BINARY_DIR}/generated/tuner/report_assets.cc")
add_custom_command(
  OUTPUT "${report_assets_source}"
  COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${report_assets_source}" -DHEADER=tuner/report_assets.h
          "-DASSETS=${report_assets}" -P "${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake"
  DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/report/report.css" "${CMAKE_CURRENT_SOURCE_DIR}/report/report.js"
          "${AUTOTUNE_CHART_JS}" "${PROJECT_SOURCE_DIR}/cmake/EmbedText.cmake"
  COMMENT "Embedding the assets of reports"
  VERBATIM)
target_sources(autotune_tuner PRIVATE "${report_assets_source}")
