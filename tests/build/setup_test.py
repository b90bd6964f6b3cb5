#!/usr/bin/env python3
"""Tests scripts/setup with stand-ins for dpkg-query, apt-get and sudo.

    setup_test.py SOURCE_ROOT
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SETUP = pathlib.Path(sys.argv.pop()) / "scripts/setup"

DPKG_QUERY = r"""#!/bin/bash
# Says "NAME=installed" for every package that is asked for and not listed in $MISSING.
for name in "${@:3}"; do
  [[ " $MISSING " == *" $name "* ]] || printf '%s=installed ' "$name"
  [[ " $REMOVED " == *" $name "* ]] && printf '%s=config-files ' "$name"
done
[[ -z $MISSING ]]
"""

APT_GET = r"""#!/bin/bash
echo "apt-get $*" >> "$LOG"
[[ -z $FAIL_ON || " $* " != *" $FAIL_ON "* ]] || { echo "E: no such luck"; exit 100; }
"""


class SetupTest(unittest.TestCase):

  def setUp(self):
    scratch = tempfile.TemporaryDirectory()
    self.addCleanup(scratch.cleanup)
    self.tools = pathlib.Path(scratch.name)
    self.log = self.tools / "log"
    for name, text in [("dpkg-query", DPKG_QUERY), ("apt-get", APT_GET),
                       ("sudo", '#!/bin/bash\nexec "$@"\n')]:
      (self.tools / name).write_text(text, encoding="utf-8")
      (self.tools / name).chmod(0o755)

  def run_setup(self, *groups, missing="", removed="", fail_on=""):
    environment = dict(os.environ, PATH=f"{self.tools}:{os.environ['PATH']}", LOG=str(self.log),
                       MISSING=missing, REMOVED=removed, FAIL_ON=fail_on)
    return subprocess.run([SETUP, *groups], env=environment, capture_output=True, text=True,
                          timeout=60, check=False)

  def apt_calls(self):
    return self.log.read_text().splitlines() if self.log.exists() else []

  def test_is_silent_when_everything_is_there(self):
    done = self.run_setup("build", "test")
    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
    self.assertEqual(self.apt_calls(), [])

  def test_knows_its_groups(self):
    for group, package in [("report-tests", "chromium"), ("torch", "libtorch-dev"),
                           ("test", "python3-jsonschema")]:
      done = self.run_setup(group, missing=package)
      self.assertEqual(done.returncode, 0, done.stderr)
      self.assertIn(package, self.apt_calls()[-1])
    self.assertEqual(self.run_setup("tests-of-reports").returncode, 2)

  def test_installs_only_what_is_missing(self):
    done = self.run_setup("build", missing="ninja-build libtbb-dev")
    self.assertEqual(done.returncode, 0, done.stderr)
    self.assertEqual(done.stdout, "")
    self.assertIn("installing Debian packages: ninja-build libtbb-dev\n", done.stderr)
    update, install = self.apt_calls()
    self.assertTrue(update.endswith(" update"), update)
    self.assertTrue(install.endswith("--no-install-recommends ninja-build libtbb-dev"), install)

  def test_a_removed_package_counts_as_missing(self):
    done = self.run_setup("build", missing="cmake", removed="cmake")
    self.assertEqual(done.returncode, 0)
    self.assertTrue(self.apt_calls()[-1].endswith("--no-install-recommends cmake"))

  def test_a_name_is_not_mistaken_for_a_longer_one(self):
    # With g++ missing, "g++-12=installed" must not count for it; '+' is no pattern.
    self.assertEqual(self.run_setup("build", missing="g++").returncode, 0)
    self.assertTrue(self.apt_calls()[-1].endswith(" g++"))

  def test_groups(self):
    self.assertEqual(self.run_setup("test", missing="libgtest-dev cmake").returncode, 0)
    self.assertTrue(self.apt_calls()[-1].endswith(" cmake libgtest-dev"))
    done = self.run_setup("tea")
    self.assertEqual(done.returncode, 2)
    self.assertIn("tea", done.stderr)

  def test_a_failure_shows_what_apt_said(self):
    for step in ["update", "install"]:
      done = self.run_setup("build", missing="cmake", fail_on=step)
      self.assertEqual(done.returncode, 4)
      self.assertIn("E: no such luck", done.stderr)


if __name__ == "__main__":
  unittest.main()
