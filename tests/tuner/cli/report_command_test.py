"""`autotune report`: the report again, from what a run left.

Usage: report_command_test.py AUTOTUNE_BINARY SOURCE_DIR [unittest options]
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
EXAMPLE = SOURCE / "examples" / "alexnet"


class ReportCommandTest(unittest.TestCase):

  def setUp(self):
    self.folder = pathlib.Path(tempfile.mkdtemp(prefix="autotune-report-"))
    self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
    self.run_cli(0, "tune", EXAMPLE / "program.hlo", "--recording", EXAMPLE / "tpu_v3.pb",
                 "--model", "analytical", "--budget", 40, "--out", "run", "--quiet")
    self.out = self.folder / "run"

  def run_cli(self, code, *arguments):
    result = subprocess.run([BINARY, *map(str, arguments)], cwd=self.folder, capture_output=True,
                            text=True, timeout=120, check=False)
    self.assertEqual(code, result.returncode, result.stderr)
    return result

  def test_gives_the_same_report_again(self):
    page, document = (self.out / "report.html").read_text(), (self.out / "report.json").read_text()
    (self.out / "report.html").unlink()
    result = self.run_cli(0, "report", "run")
    self.assertEqual(page, (self.out / "report.html").read_text())
    self.assertEqual(document, (self.out / "report.json").read_text())
    self.assertIn("speed-up 1.10x (replayed, no repeats)", result.stdout)
    self.assertIn("report:  run/report.html", result.stdout)
    self.assertEqual(json.loads(document), json.loads(
        self.run_cli(0, "report", "run", "--json").stdout))
    self.run_cli(0, "report", "run/report.json", "--html", "elsewhere.html")
    self.assertEqual(page, (self.folder / "elsewhere.html").read_text())

  def test_of_a_run_that_was_killed_shows_its_records(self):
    whole = json.loads((self.out / "report.json").read_text())
    for name in ["report.json", "report.html", "best.json"]:
      (self.out / name).unlink()
    part = json.loads(self.run_cli(0, "report", "run", "--json").stdout)
    self.assertEqual(whole["run"]["id"], part["run"]["id"])
    self.assertEqual(40, part["measurements"])
    self.assertIn("has not written its report", " ".join(part["warnings"]))
    self.assertIn("--resume", part["commands"]["resume"])
    totals = [{t["name"]: t["seconds"] for t in document["totals"]} for document in (whole, part)]
    for name in ["default", "best found"]:
      self.assertAlmostEqual(totals[0][name], totals[1][name], delta=1e-9 * totals[0][name])
    self.assertAlmostEqual(whole["speedup"], part["speedup"], places=9)
    fates = [[(c["sequence"], c["fate"], c["config"]) for c in document["candidates"]]
             for document in (whole, part)]
    self.assertEqual(sorted(map(str, fates[0])), sorted(map(str, fates[1])))
    self.assertTrue((self.out / "report.html").is_file())

  def test_says_what_is_wrong(self):
    self.assertIn("holds no run", self.run_cli(3, "report", "nowhere").stderr)
    (self.out / "report.json").write_text("{")
    self.assertIn("not JSON", self.run_cli(3, "report", "run").stderr)
    (self.out / "report.json").unlink()
    (self.out / "records.db").unlink()
    self.assertIn("records.db is not there", self.run_cli(3, "report", "run").stderr)
    self.assertFalse((self.out / "records.db").exists())


if __name__ == "__main__":
  unittest.main()
