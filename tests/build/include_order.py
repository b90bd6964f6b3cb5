#!/usr/bin/env python3
"""Checks every #include of the project against the order of its folders.

    include_order.py ROOT

A folder may include itself and the folders below it (see docs/architecture.md), the standard and
the system's headers, and only the third-party libraries listed for it here. Prints one line per
violation, as FILE:LINE: MESSAGE, and exits with 1 if there is any.
"""

import pathlib
import re
import sys

# Folder -> the project's folders that it may include.
ORDER = {
    "hlo": {"hlo", "proto"},
    "hardware": {"hardware", "hlo", "proto"},
    "search": {"search", "hardware", "hlo"},
    "costmodel": {"costmodel", "hardware", "hlo", "proto"},
    "tuner": {"tuner", "search", "costmodel", "hardware", "hlo", "proto"},
    "examples": {"examples", "tuner", "search", "costmodel", "hardware", "hlo", "proto"},
    "tests": {"tests", "examples", "tuner", "search", "costmodel", "hardware", "hlo", "proto"},
}

# Library -> how its headers begin.
LIBRARIES = {
    "Abseil": r"absl/",
    "Protobuf": r"google/protobuf/",
    "nlohmann/json": r"nlohmann/",
    "TBB": r"(oneapi/)?tbb(/|\.h)",
    "SOCI": r"soci/|sqlite3\.h|libpq-fe\.h",
    "PJRT": r"(xla/pjrt/c/)?pjrt_c_api[a-z_]*\.h",
    "Ray": r"ray/",
    "zlib": r"zlib\.h",
    "LibTorch": r"(torch|ATen|c10)/",
    "CLI11": r"CLI/",
    "GoogleTest": r"(gtest|gmock)/",
    "Google Benchmark": r"benchmark/",
}

_COMMON = {"Abseil", "Protobuf", "nlohmann/json"}
_TUNER = _COMMON | {"TBB", "SOCI", "PJRT", "Ray", "zlib", "CLI11"}
# Folder -> the libraries that it may include.
ALLOWED = {
    "hlo": _COMMON,
    "hardware": _COMMON | {"TBB", "SOCI", "PJRT", "Ray", "zlib"},
    "search": {"Abseil"},
    "costmodel": _COMMON | {"TBB", "zlib"},
    "tuner": _TUNER,
    "examples": _TUNER,
    "tests": _TUNER | {"GoogleTest", "Google Benchmark", "LibTorch"},
}

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
_STANDARD = re.compile(r"[a-z_]+$")  # <vector>
_SYSTEM = re.compile(
    r"(sys|linux|netinet|arpa)/[a-z_]+\.h$|"
    r"(dirent|dlfcn|elf|errno|fcntl|glob|link|netdb|poll|pthread|pwd|sched|signal|spawn|stddef|stdint|"
    r"stdlib|termios|time|unistd)"
    r"\.h$|immintrin\.h$"
)


def allowed_libraries(folder, name):
  """The libraries that file `name` of `folder` may include."""
  if folder == "costmodel" and name.startswith("torch_"):
    return ALLOWED[folder] | {"LibTorch"}
  return ALLOWED[folder]


def check_include(path, quote, target):
  """Why the file `path` (relative to the root) may not include `target`; None if it may."""
  folder = path.parts[0]
  top = target.split("/")[0]
  if target.startswith(("../", "./")) or "/../" in target:
    return f'"{target}" is a relative path: write it from the root'
  if "/" in target and (top in ORDER or top == "proto"):
    if top not in ORDER[folder]:
      return f'{folder} may not include "{target}"'
    if quote == "<":
      return f'<{target}> is ours: write it with quotes'
    return None
  for library, pattern in LIBRARIES.items():
    if re.match(pattern, target):
      if library not in allowed_libraries(folder, path.name):
        return f"{folder} may not use {library} ({target})"
      return None
  if quote == "<" and (_STANDARD.match(target) or _SYSTEM.match(target)):
    return None
  return f"{target} is neither ours, nor the system's, nor of a library that the project uses"


def expected_guard(path):
  """The include guard of a header: AUTOTUNE_HLO_MODULE_H_ for hlo/module.h."""
  return "AUTOTUNE_" + re.sub(r"[^A-Za-z0-9]", "_", str(path)).upper() + "_"


def check_file(root, path):
  """The violations of one file, as lines of text."""
  found = []
  text = (root / path).read_text(encoding="utf-8")
  for number, line in enumerate(text.splitlines(), 1):
    match = _INCLUDE.match(line)
    if match:
      why = check_include(path, *match.groups())
      if why:
        found.append(f"{path}:{number}: {why}")
  if path.suffix == ".h" and f"#ifndef {expected_guard(path)}\n" not in text:
    found.append(f"{path}:1: the include guard must be {expected_guard(path)}")
  return found


def check_tree(root):
  """All violations under `root`, and the number of files read."""
  found, count = [], 0
  for folder in sorted(ORDER):
    for path in sorted((root / folder).rglob("*")):
      if path.suffix in (".h", ".cc") and path.is_file():
        count += 1
        found.extend(check_file(root, path.relative_to(root)))
  return found, count


def main():
  root = pathlib.Path(sys.argv[1]).resolve()
  found, count = check_tree(root)
  print("\n".join(found + [f"{count} files, {len(found)} violations"]))
  return 1 if found or count == 0 else 0


if __name__ == "__main__":
  sys.exit(main())
