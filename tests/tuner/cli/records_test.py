"""Records on the command line: what may go wrong, and empty values of any option.

Usage: records_test.py AUTOTUNE_BINARY SOURCE_DIR [unittest options]
"""

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

BINARY = str(pathlib.Path(sys.argv.pop(1)).resolve())
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
EXAMPLE = SOURCE / "examples" / "alexnet"
NOBODY = 65534

os.environ["AUTOTUNE_WEIGHTS"] = "/nowhere"  # the same with and without LibTorch


class RecordsTestCase(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.master = pathlib.Path(tempfile.mkdtemp(prefix="autotune-records-"))
    subprocess.run([BINARY, EXAMPLE / "program.hlo", "--recording", EXAMPLE / "tpu_v3.pb", "--budget",
                    "12", "--out", cls.master / "run", "--quiet"], check=True, capture_output=True)

  @classmethod
  def tearDownClass(cls):
    shutil.rmtree(cls.master, ignore_errors=True)

  def setUp(self):
    self.folder = pathlib.Path(tempfile.mkdtemp(prefix="autotune-records-"))
    shutil.copy(self.master / "run" / "records.db", self.folder / "a.db")
    self.store = ["--store", "sqlite:a.db"]

  def tearDown(self):
    shutil.rmtree(self.folder, ignore_errors=True)

  def expect(self, code, *arguments, **options):
    result = subprocess.run([BINARY, *map(str, arguments)], cwd=self.folder, capture_output=True,
                            text=True, timeout=120, check=False, **options)
    self.assertEqual(code, result.returncode, result.stdout + result.stderr)
    return result

  def write(self, name, content):
    (self.folder / name).write_text(content)
    return name


class EmptyValuesTest(RecordsTestCase):

  def test_they_are_refused_by_name(self):
    program, recording = str(EXAMPLE / "program.hlo"), str(EXAMPLE / "tpu_v3.pb")
    for option, *arguments in [
        ["--recording", "tune", program, "--recording", ""],
        ["--store", "tune", program, "--recording", recording, "--store", ""],
        ["--out", "tune", program, "--recording", recording, "--out", ""],
        ["--plugin", "tune", program, "--plugin", ""],
        ["--out", "convert", program, "--to", "pb", "--out", ""],
        ["--html", "compare", recording, "--html", ""],
        ["--config", "apply", program, "--config", "", "--out", "x"],
        ["--data", "train", "--data", "", "--out", "x"],
        ["--store", "records", "list", "--store", ""],
        ["--worker-config", "fleet", "up", "--worker-config", ""],
        ["PROGRAM", "inspect", ""],
        ["FILE", "check", ""],
        ["FILE", "records", "import", "", *self.store],
        ["--out=", "tune", program, "--out=", "--resume"],
    ]:
      with self.subTest(arguments=arguments):
        self.assertIn(f"{option}: the value is empty".replace("=:", "="),
                      self.expect(2, *arguments).stderr)


class WrongUseTest(RecordsTestCase):

  def test_what_is_meant_is_named(self):
    self.assertIn('got "lst"; did you mean `autotune records list`?',
                  self.expect(2, "records", "lst", *self.store).stderr)
    self.assertIn("takes list, show,", self.expect(2, "records").stderr)
    self.assertIn("takes up, status, down", self.expect(2, "fleet", "begin").stderr)
    self.assertIn("`autotune records show --help`", self.expect(2, "records", "show").stderr)
    self.assertIn("did you mean --recording?", self.expect(
        2, EXAMPLE / "program.hlo", "--recordng", EXAMPLE / "tpu_v3.pb").stderr)
    self.assertIn("did you mean sqlite:a.db?",
                  self.expect(2, "records", "list", "--store", "a.db").stderr)


class DamageTest(RecordsTestCase):

  def change(self, statement):
    with sqlite3.connect(self.folder / "a.db") as database:
      database.execute(statement)
    database.close()

  def test_it_is_named_and_not_passed_on(self):
    self.change("UPDATE candidates SET samples = '0.5' WHERE sequence = 3")
    self.assertIn("candidate 3 of run", self.expect(3, "records", "verify", *self.store).stdout)
    for form in ["jsonl", "csv", "recording"]:
      result = self.expect(3, "records", "export", *self.store, "--to", form, "--device", "tpu-v3",
                           "--out", "out")
      self.assertIn("candidate 3 of run", result.stderr)
      self.assertFalse((self.folder / "out").exists())
    self.expect(3, "records", "merge", "sqlite:a.db", "--store", "sqlite:b.db")
    self.prune_damaged("1 damaged record", "1 candidate and 0 kernels out, 0 runs mended")

  def prune_damaged(self, *words):
    prune = ["records", "prune", "--damaged", *self.store]
    for arguments in [[*prune, "--dry-run"], prune]:
      text = self.expect(0, *arguments).stdout
      for word in ["its checksum is wrong", *words]:
        self.assertIn(word, text)
    self.expect(0, "records", "verify", *self.store)
    self.assertIn("0 damaged records", self.expect(0, *prune).stdout)

  def test_a_changed_run(self):
    self.change("UPDATE runs SET program = 'another'")
    self.assertIn("its checksum is wrong", self.expect(3, "records", "verify", *self.store).stdout)
    self.assertIn("is damaged", self.expect(3, "records", "list", *self.store).stderr)
    self.prune_damaged("0 candidates and 0 kernels out, 1 run mended")
    listed = self.expect(0, "records", "list", *self.store).stdout
    self.assertIn("mended: its own record was damaged", listed)
    self.assertIn("12 of them measured", listed)

  def test_a_damaged_line_of_a_journal_is_set_aside(self):
    shutil.copytree(self.master / "run", self.folder / "run")
    for start in ["report", "resume"]:
      (self.folder / "run" / "report.json").unlink(missing_ok=True)
      (self.folder / "run" / "journal.jsonl").write_text(f"0123456789abcdef {{}} {start}\n")
      if start == "report":
        result = self.expect(0, "report", "run")
        self.assertNotIn("()", result.stdout)  # what no record says
        text = result.stderr
        self.assertIn("this run has not written its report", text)  # on the page alone, before
      else:
        text = self.expect(0, "--out", "run", "--resume").stderr
      self.assertIn("run/journal.jsonl: 1 damaged result is set aside in", text)
    self.assertEqual("0123456789abcdef {} report\n0123456789abcdef {} resume\n",
                     (self.folder / "run" / "journal.jsonl.damaged").read_text())

  def test_prune_takes_damage_or_runs(self):
    self.assertIn("--damaged stands alone", self.expect(
        2, "records", "prune", "--damaged", "--proposed", *self.store).stderr)

  def test_a_file_that_is_no_store(self):
    self.write("a.db", "what is this?" * 1000)
    for command in ["verify", "list"]:
      self.assertIn("a.db", self.expect(3, "records", command, *self.store).stderr)

  def test_a_store_that_may_only_be_read(self):
    if os.geteuid() != 0:
      self.skipTest("only root can become somebody else")
    shutil.copy(self.folder / "a.db", self.folder / "b?%23#.db")
    os.chmod(self.folder, 0o555)
    somebody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    try:
      self.expect(0, "--version", **somebody)
    except OSError:
      self.skipTest("the program is in a folder that nobody else may enter")
    for url in ["sqlite:a.db", "sqlite:b?%23#.db"]:
      self.assertIn("12 of them measured",
                    self.expect(0, "records", "list", "--store", url, **somebody).stdout)
      self.expect(0, "records", "verify", "--store", url, **somebody)
    self.assertIn("may the file and its folder be written?",
                  self.expect(4, "records", "prune", "--proposed", *self.store, **somebody).stderr)


class ImportTest(RecordsTestCase):

  def test_a_file_of_tpugraphs_tile_collection(self):
    shutil.copy(SOURCE / "tests" / "hardware" / "data" / "numpy_tile.npz", self.folder / "resnet.npz")
    into = ["--store", "sqlite:tiles.db"]
    self.assertIn("1 run, 0 kernels, 2 candidates",
                  self.expect(0, "records", "import", "resnet.npz", *into).stdout)
    self.assertIn("resnet", self.expect(0, "records", "list", *into).stdout)
    self.expect(0, "records", "verify", *into)
    self.assertIn("whose module is stored", self.expect(
        3, "records", "export", *into, "--to", "pb", "--device", "tpu-v3", "--out", "x").stderr)

  def test_the_second_time_adds_nothing_and_says_so(self):
    self.expect(0, "records", "export", *self.store, "--to", "pb", "--device", "tpu-v3", "--out", "a.pb")
    for form in ["jsonl", "csv"]:
      self.expect(0, "records", "export", *self.store, "--to", form, "--out", f"a.{form}")
    for name in ["a.jsonl", "a.csv", "a.pb"]:
      into = ["--store", f"sqlite:{name}.db"]
      self.assertIn("1 run, ", self.expect(0, "records", "import", name, *into).stdout)
      self.assertIn("0 runs, 0 kernels, 0 candidates",
                    self.expect(0, "records", "import", name, *into).stdout)

  def test_files_of_no_known_form_are_named(self):
    for content, words in [("", "the file is empty"), ("\n \n", "the file is empty"),
                           ("[1, 2]\n", "JSON lines or CSV"), ("hello", "JSON lines or CSV"),
                           ("{\n", "x:1: no JSON")]:
      with self.subTest(content=content):
        result = self.expect(3, "records", "import", self.write("x", content), "--store", "sqlite:b.db")
        self.assertIn(words, result.stderr)

  def test_impossible_times_come_in_nowhere(self):
    self.expect(0, "records", "export", *self.store, "--out", "a.jsonl")
    lines = [json.loads(line) for line in (self.folder / "a.jsonl").read_text().splitlines()]
    for line in lines:
      if "seconds" in line.get("measurement", {}):
        line["measurement"]["seconds"] = [1e308, 1e308]
    self.write("b.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    self.assertIn("seconds", self.expect(3, "records", "import", "b.jsonl", "--store",
                                         "sqlite:b.db").stderr)


class FleetTest(RecordsTestCase):

  def test_status_of_none_fits_its_schema(self):
    document = json.loads(self.expect(
        1, "fleet", "status", "--json",
        env={**os.environ, "AUTOTUNE_FLEET_FOLDER": str(self.folder / "none")}).stdout)
    self.assertEqual({"schema": "autotune.fleet/1", "up": False}, document)

  def test_what_cannot_work_is_refused_before_ray_starts(self):
    fleet = {**os.environ, "AUTOTUNE_FLEET_FOLDER": str(self.folder / "fleet")}
    config = self.write("worker.json", '{"backend": "sleep"}')
    up = ["fleet", "up", "--worker-config"]
    self.assertIn("pjrt, aot or sleep", self.expect(
        2, *up, self.write("bad.json", '{"backend": "shell"}'), env=fleet).stderr)
    for option, value, words in [["--resource", 'a"b', "letters, digits"],
                                 ["--address", "192.0.2.1", "no address of this machine"]]:
      self.assertIn(words, self.expect(2, *up, config, option, value, env=fleet).stderr)


class FusionComparisonTest(RecordsTestCase):

  def test_max_evaluations_is_a_budget(self):
    data = SOURCE / "examples" / "recordings" / "fusion_v3"
    document = json.loads(self.expect(
        0, "compare", data / "vqvae_train.hlo", "--recording", data / "vqvae_train.jsonl.gz",
        "--methods", "default,random", "--seeds", 1, "--max-evaluations", 7, "--json").stdout)
    budgets = {b["budget"] for p in document["programs"] for m in p["methods"] for b in m["budgets"]}
    self.assertEqual({7}, budgets)


if __name__ == "__main__":
  unittest.main()
