# Writes a C++ file that defines text files as string constants.
#
#   cmake -DOUTPUT=FILE.cc -DHEADER=HEADER -DASSETS=NAME=FILE,NAME=FILE -P EmbedText.cmake
#
# Each NAME becomes a function `absl::string_view NAME()` of the namespace autotune. The files are
# written as raw strings in pieces: compilers limit the length of one.
set(text "#include \"${HEADER}\"\n\nnamespace autotune {\n")
string(REPLACE "," ";" assets "${ASSETS}")
foreach(asset IN LISTS assets)
  string(REGEX MATCH "^([^=]+)=(.*)$" matched "${asset}")
  set(name "${CMAKE_MATCH_1}")
  file(READ "${CMAKE_MATCH_2}" content)
  string(LENGTH "${content}" length)
  string(APPEND text "\nabsl::string_view ${name}() {\n  static constexpr char kText[] =")
  set(begin 0)
  while(begin LESS length)
    string(SUBSTRING "${content}" ${begin} 12000 piece)
    string(APPEND text "\nR\"~embedded~(${piece})~embedded~\"")
    math(EXPR begin "${begin} + 12000")
  endwhile()
  string(APPEND text ";\n  return absl::string_view(kText, sizeof(kText) - 1);\n}\n")
endforeach()
string(APPEND text "\n}  // namespace autotune\n")
file(WRITE "${OUTPUT}" "${text}")
