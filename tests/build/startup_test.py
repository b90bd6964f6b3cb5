#!/usr/bin/env python3
"""Tests what the `autotune` binary loads and how fast it starts.

    startup_test.py BINARY SOURCE_ROOT
"""

import os
import pathlib
import statistics
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(sys.argv.pop())
BINARY = pathlib.Path(sys.argv.pop())
PROGRAM = str(ROOT / "examples/alexnet/program.hlo")


class StartupTest(unittest.TestCase):

  def loaded_libraries(self, *args):
    """What the dynamic loader says while the command runs, at start and in dlopen."""
    done = subprocess.run([BINARY, *args], env=dict(os.environ, LD_DEBUG="files"),
                          capture_output=True, text=True, timeout=60, check=False)
    self.assertEqual(done.returncode, 0, done.stderr[-2000:])
    return done.stderr

  def test_check_loads_no_libtorch(self):
    log = self.loaded_libraries("check", PROGRAM)
    self.assertIn("libprotobuf", log)  # The log does name libraries.
    for library in ["libtorch", "libc10", "libautotune_torch"]:
      self.assertNotIn(library, log)

  def test_starts_in_under_50_ms(self):
    for args in [["--version"], ["check", PROGRAM]]:
      times = []
      for _ in range(15):
        start = time.perf_counter()
        subprocess.run([BINARY, *args], check=True, capture_output=True)
        times.append(1000 * (time.perf_counter() - start))
      # The fastest half: a busy machine must not fail the test.
      took = statistics.median(sorted(times)[:8])
      print(f"autotune {args[0]}: {took:.1f} ms")
      self.assertLess(took, 50)


if __name__ == "__main__":
  unittest.main()
