#!/usr/bin/env python3
"""Says which C++ files can be compiled as one translation unit.

    cmake/unity.py SIZE FILE...       prints "GROUP;FILE;GROUP;FILE...", a list for CMake

Most of what a compiler does for one file of this project it does for the headers of libraries, so several
files at once take a third of the time (docs/decisions/0014-files-compiled-together.md). Files that use the
same names outside of functions are kept apart, as they may clash.
"""

import re
import sys

# What is declared in column 0, where namespaces have their contents: the last name before ( = { [ ; or :
DECLARED = re.compile(r"^(?![#/}\s])[^\n(={\[;]*?(::)?\b(\w+)\s*(?:final\s*)?(?:[(={\[;]|:(?!:))", re.M)
# What GoogleTest's macros declare: a class of both names, or of the suite alone where it is a fixture's.
TESTS = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|INSTANTIATE_TEST_SUITE_P|MATCHER\w*)$")
# Libraries of C, whose headers depend on what was included before: only together with their like.
APART = re.compile(r'^#include [<"](soci/|sqlite3|pjrt_c_api)', re.M)


def names(text):
    """What `text` declares outside of functions and classes, roughly."""
    declared = {match[2] for match in DECLARED.finditer(text) if not match[1]}
    return {name for name in declared if not TESTS.match(name)} - {"autotune", "namespace"}


def groups(files, size):
    """Lists of at most `size` files that, as far as is seen, share no name."""
    made = []
    for path in files:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        libraries, mine = set(APART.findall(text)), names(text)
        for group in made:
            if group["libraries"] == libraries and len(group["files"]) < size and not mine & group["names"]:
                group["files"].append(path)
                group["names"] |= mine
                break
        else:
            made.append({"libraries": libraries, "names": mine, "files": [path]})
    return [group["files"] for group in made]


def main():
    made = groups(sorted(sys.argv[2:]), int(sys.argv[1]))
    print(";".join(f"{number};{path}" for number, files in enumerate(made) for path in files), end="")


if __name__ == "__main__":
    main()
