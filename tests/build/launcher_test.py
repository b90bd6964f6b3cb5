#!/usr/bin/env python3
"""Tests the launcher ./autotune on a copy of it, with stand-ins for cmake and the Debian set-up.

    launcher_test.py ROOT

The stand-in cmake writes a shell script as the binary, so that every path of the launcher runs in
milliseconds; the time that the launcher itself takes is measured over a copy of the real sources.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else pathlib.Path.cwd()
SOURCES = ["hlo", "hardware", "search", "costmodel", "tuner", "proto", "cmake"]

CMAKE = r"""#!/bin/bash
echo "cmake $*" >> "$FAKE_LOG"
case $1 in
  --preset) [[ ! -e $FAKE_DIR/fail_configure ]] || { echo "no compiler here"; exit 1; } ;;
  --build)
    sleep "${FAKE_SLEEP:-0}"
    echo "[1/2] Compiling a.cc"
    [[ ! -e $FAKE_DIR/fail_build ]] || { echo "a.cc:1: error: broken"; exit 1; }
    mkdir -p "$2/bin"
    printf '#!/bin/bash\necho "{\\"args\\": \\"$*\\"}"\nexit "${FAKE_EXIT:-0}"\n' > "$2/bin/autotune"
    chmod +x "$2/bin/autotune"
    echo "[2/2] Linking autotune" ;;
esac
"""


class LauncherTest(unittest.TestCase):

  def setUp(self):
    self._scratch = tempfile.TemporaryDirectory()
    self.addCleanup(self._scratch.cleanup)
    self.scratch = pathlib.Path(self._scratch.name)
    self.tree = self.scratch / "a tree"
    self.tree.mkdir()
    shutil.copy2(ROOT / "autotune", self.tree)
    for name in ["CMakeLists.txt", "CMakePresets.json"]:
      shutil.copy2(ROOT / name, self.tree)
    for folder in SOURCES:
      shutil.copytree(ROOT / folder, self.tree / folder)
    (self.tree / "scripts").mkdir()
    self.write_tool(self.tree / "scripts/setup", '#!/bin/bash\necho "setup $*" >> "$FAKE_LOG"\n')
    self.tools = self.scratch / "tools"
    self.tools.mkdir()
    self.write_tool(self.tools / "cmake", CMAKE)
    self.log = self.scratch / "log"
    # Sources are older than any build that starts now.
    past = time.time() - 100
    for path in [*self.tree.rglob("*"), self.tree]:
      os.utime(path, (past, past))

  def write_tool(self, path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)

  def environment(self, **more):
    return dict(os.environ, PATH=f"{self.tools}:{os.environ['PATH']}", FAKE_LOG=str(self.log),
                FAKE_DIR=str(self.scratch), **more)

  def run_launcher(self, *args, **more):
    return subprocess.run([str(self.tree / "autotune"), *args], env=self.environment(**more),
                          capture_output=True, text=True, timeout=60, check=False)

  def builds(self):
    return self.log.read_text().count("cmake --build") if self.log.exists() else 0

  def test_builds_once_then_hands_over(self):
    first = self.run_launcher("check", "a b", "--json")
    self.assertEqual(first.returncode, 0, first.stderr)
    self.assertEqual(first.stdout, '{"args": "check a b --json"}\n')
    self.assertIn("building", first.stderr)
    self.assertIn("setup build", self.log.read_text())
    second = self.run_launcher("check")
    self.assertEqual(second.stdout, '{"args": "check"}\n')
    self.assertEqual(second.stderr, "")
    self.assertEqual(self.builds(), 1)

  def test_passes_the_exit_code_on(self):
    self.run_launcher()
    self.assertEqual(self.run_launcher("x", FAKE_EXIT="3").returncode, 3)

  def test_rebuilds_after_a_change_a_new_file_and_a_removed_file(self):
    self.run_launcher()
    for change in [lambda: (self.tree / "hlo/CMakeLists.txt").touch(),
                   lambda: (self.tree / "search/new.cc").write_text("int x;\n"),
                   lambda: (self.tree / "search/new.cc").unlink(),
                   lambda: (self.tree / "CMakeLists.txt").touch()]:
      before = self.builds()
      time.sleep(0.02)
      change()
      self.run_launcher()
      self.assertEqual(self.builds(), before + 1)
      self.run_launcher()
      self.assertEqual(self.builds(), before + 1)

  def test_a_change_during_the_build_is_built_next_time(self):
    with subprocess.Popen([str(self.tree / "autotune")], env=self.environment(FAKE_SLEEP="0.6"),
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
      time.sleep(0.3)
      (self.tree / "hlo/CMakeLists.txt").touch()
      self.assertEqual(process.wait(timeout=30), 0)
    self.run_launcher()
    self.assertEqual(self.builds(), 2)

  def test_failures_show_the_log_and_do_not_count_as_built(self):
    for what, message in [("fail_configure", "no compiler here"), ("fail_build", "error: broken")]:
      (self.scratch / what).touch()
      for _ in range(2):
        failed = self.run_launcher("--version")
        self.assertEqual(failed.returncode, 4)
        self.assertEqual(failed.stdout, "")
        self.assertIn(message, failed.stderr)
      (self.scratch / what).unlink()
    self.assertEqual(self.run_launcher("--version").returncode, 0)

  def test_a_failing_setup_stops_before_the_build(self):
    self.write_tool(self.tree / "scripts/setup", "#!/bin/bash\necho no rights >&2\nexit 4\n")
    failed = self.run_launcher()
    self.assertEqual(failed.returncode, 4)
    self.assertIn("no rights", failed.stderr)
    self.assertEqual(self.builds(), 0)

  def test_a_second_launcher_waits_for_the_first(self):
    processes = [
        subprocess.Popen([str(self.tree / "autotune"), str(i)], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, env=self.environment(FAKE_SLEEP="0.5"))
        for i in range(3)
    ]
    answers = [process.communicate(timeout=60) for process in processes]
    self.assertEqual([out for out, _ in answers], [f'{{"args": "{i}"}}\n' for i in range(3)])
    self.assertEqual(sum("waiting" in err for _, err in answers), 2)
    self.assertEqual(self.builds(), 1)

  def test_works_through_a_link_and_from_another_folder(self):
    (self.scratch / "link").symlink_to(self.tree / "autotune")
    for command, folder in [(["./link"], self.scratch), (["./autotune"], self.tree),
                            (["../autotune"], self.tree / "hlo"), (["bash", "autotune"], self.tree)]:
      done = subprocess.run([*command, "x"], cwd=folder, env=self.environment(),
                            capture_output=True, text=True, timeout=60, check=False)
      self.assertEqual(done.stdout, '{"args": "x"}\n', done.stderr)

  def test_optional_parts(self):
    self.write_tool(self.tree / "scripts/setup_aot", '#!/bin/bash\necho "aot" >> "$FAKE_LOG"\n')
    done = self.run_launcher("--with", "aot")
    self.assertEqual((done.returncode, done.stdout), (0, ""))
    self.assertIn("aot\n", self.log.read_text())
    self.assertEqual(self.builds(), 1)
    done = self.run_launcher("--with", "aot", "backends")
    self.assertEqual(done.stdout, '{"args": "backends"}\n')
    # Debian packages alone: a group of scripts/setup.
    self.assertEqual(self.run_launcher("--with", "report-tests").returncode, 0)
    self.assertIn("setup report-tests\n", self.log.read_text())
    self.assertEqual(self.run_launcher("--with", "tea").returncode, 2)
    self.assertEqual(self.run_launcher("--with").returncode, 2)

  def test_takes_under_50_ms(self):
    self.run_launcher()
    binary = self.tree / "build/release/bin/autotune"
    self.write_tool(binary, "#!/bin/sh\n")

    def median_ms(command):
      times = []
      for _ in range(15):
        start = time.perf_counter()
        subprocess.run(command, env=self.environment(), check=True, capture_output=True)
        times.append(1000 * (time.perf_counter() - start))
      return statistics.median(times)

    cost = median_ms([str(self.tree / "autotune")]) - median_ms([str(binary)])
    print(f"launcher: {cost:.1f} ms")
    self.assertLess(cost, 50)


if __name__ == "__main__":
  unittest.main()
