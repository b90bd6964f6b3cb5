"""Every JSON document that the command writes is what its schema in docs/schema says.

Usage: schema_test.py AUTOTUNE_BINARY SOURCE_DIR [unittest options]
"""

import copy
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
  import jsonschema
except ImportError:
  jsonschema = None

BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
SCHEMAS = SOURCE / "docs" / "schema"
EXAMPLE = SOURCE / "examples" / "alexnet"

# The same with and without LibTorch, and no slower: learned_test.py tests the learned model, which
# is the default where it can be had.
os.environ["AUTOTUNE_WEIGHTS"] = "/nowhere"


def load_schema(name):
  """The schema of documents that say "schema": name ("autotune.tune/1")."""
  return json.loads((SCHEMAS / f"{name.replace('/', '.')}.json").read_text())


@unittest.skipIf(jsonschema is None, "Debian's package python3-jsonschema is not installed")
class SchemaTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="autotune-schema-"))

  @classmethod
  def tearDownClass(cls):
    shutil.rmtree(cls.folder, ignore_errors=True)

  def run_json(self, *arguments, code=0):
    result = subprocess.run([BINARY, *map(str, arguments), "--json"], cwd=self.folder,
                            capture_output=True, text=True, timeout=300, check=False)
    self.assertEqual(code, result.returncode, result.stderr)
    return json.loads(result.stdout)

  def check(self, document, name):
    self.assertEqual(name, document["schema"])
    validator = jsonschema.Draft202012Validator(load_schema(name))
    errors = [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(document)]
    self.assertEqual([], errors[:10])

  def tune(self, name, *arguments, code=0):
    return self.run_json("tune", EXAMPLE / "program.hlo", "--recording", EXAMPLE / "tpu_v3.pb",
                         "--out", name, "--quiet", *arguments, code=code)

  def test_schemas_are_schemas(self):
    found = sorted(SCHEMAS.glob("autotune.*.json"))
    self.assertGreaterEqual(len(found), 8)
    for path in found:
      with self.subTest(path.name):
        schema = json.loads(path.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        name = schema["properties"]["schema"]["const"]
        self.assertEqual(path.name, f"{name.replace('/', '.')}.json")
        self.assertIn(name, (SOURCE / "docs" / "cli.md").read_text())

  def test_runs(self):
    for options in [["--budget", 40], ["--budget", 0],
                    ["--budget", 30, "--model", "none", "--seed", 5],
                    ["--budget-seconds", 20, "--strategy", "genetic"]]:
      with self.subTest(options=options):
        name = "run-" + "-".join(map(str, options)).replace("--", "")
        self.check(self.tune(name, *options), "autotune.tune/1")
        out = self.folder / name
        self.check(json.loads((out / "report.json").read_text()), "autotune.tune/1")
        self.check(json.loads((out / "run.json").read_text()), "autotune.run/1")
        self.check(json.loads((out / "best.json").read_text()), "autotune.best/1")
        self.check(self.run_json("report", name), "autotune.tune/1")

  def test_a_run_of_several_programs(self):
    second = self.folder / "second.hlo"
    second.write_text((EXAMPLE / "program.hlo").read_text().replace("HloModule a", "HloModule b"))
    document = self.tune("several", second, "--budget", 20)
    self.assertEqual(2, len(document["programs"]))
    self.check(document, "autotune.tune/1")
    self.check(self.run_json("report", "several"), "autotune.tune/1")

  def test_stored_reports(self):
    """Those of other backends, with failures, repeats and an interval."""
    reports = sorted((SOURCE / "tests" / "golden" / "reports").glob("*.json"))
    self.assertGreaterEqual(len(reports), 3)
    for path in reports:
      with self.subTest(path.name):
        self.check(json.loads(path.read_text()), "autotune.tune/1")
        self.check(self.run_json("report", path, "--html", "page.html"), "autotune.tune/1")

  def test_comparison(self):
    document = self.run_json("compare", EXAMPLE / "tpu_v3.pb", "--seeds", 3, "--quiet",
                             "--max-evaluations", 30)
    self.check(document, "autotune.compare/1")
    self.assertIn("p10", document["overall"][0]["evaluations_to_within"][0])

  def test_other_commands(self):
    self.check(self.run_json("inspect", EXAMPLE / "program.hlo"), "autotune.inspect/1")
    self.check(self.run_json("inspect", EXAMPLE / "tpu_v3.pb"), "autotune.inspect/1")
    self.check(self.run_json("check", EXAMPLE / "program.hlo", EXAMPLE / "tpu_v3.pb"),
               "autotune.check/1")
    self.check(self.run_json("check", SOURCE / "README.md", code=3), "autotune.check/1")
    self.check(self.run_json("backends"), "autotune.backends/1")

  def test_records(self):
    self.tune("stored", "--budget", 12)
    store = "sqlite:stored/records.db"
    listed = self.run_json("records", "list", "--store", store)
    self.check(listed, "autotune.records/1")
    shown = self.run_json("records", "show", listed["runs"][0]["id"], "--store", store)
    self.check(shown, "autotune.records/1")
    # Of each candidate everything that is recorded.
    measured = [c for c in shown["candidates"] if c["fate"] == "measured"]
    self.assertEqual(12, len(measured))
    for member in ["versions", "flags", "unix_micros", "samples", "default"]:
      self.assertIn(member, measured[0])
    self.assertTrue(any(c.get("predictions") for c in shown["candidates"]))
    self.check(self.run_json("records", "verify", "--store", store), "autotune.records/1")

  def test_a_failed_candidate(self):
    # A recorded failure was written as a text, where the schema has kind and message.
    line = {"record": "candidate", "run": "r", "sequence": 0, "kernel": "1", "kernel_name": "k",
            "device": "tpu-v3", "backend": "pjrt", "versions": "", "flags": "", "source": "hardware",
            "config": {"opaque": 0}, "fate": "measured", "time": 1,
            "measurement": {"failure": "timeout", "message": "it hangs"},
            "predictions": [{"model": "analytical", "score": "inf", "rank": 0}]}
    run = {"record": "run", "id": "r", "program": "p", "options": "{}", "seed": "0", "started": 1,
           "outcome": "done"}
    (self.folder / "failed.jsonl").write_text(f"{json.dumps(run)}\n{json.dumps(line)}\n")
    subprocess.run([BINARY, "records", "import", "failed.jsonl", "--store", "sqlite:failed.db"],
                   cwd=self.folder, check=True, capture_output=True)
    shown = self.run_json("records", "show", "r", "--store", "sqlite:failed.db")
    self.check(shown, "autotune.records/1")
    self.assertEqual({"kind": "timeout", "message": "it hangs"}, shown["candidates"][0]["failure"])

  def test_a_wrong_document_is_refused(self):
    document = self.tune("wrong", "--budget", 12)
    validator = jsonschema.Draft202012Validator(load_schema("autotune.tune/1"))

    def refused(change):
      changed = copy.deepcopy(document)
      change(changed)
      return not validator.is_valid(changed)

    self.assertTrue(refused(lambda d: d.pop("measurements")))
    self.assertTrue(refused(lambda d: d.update(undocumented=1)))
    self.assertTrue(refused(lambda d: d["run"].update(time_source="guess")))
    self.assertTrue(refused(lambda d: d["candidates"][0].update(fate="lost")))
    self.assertTrue(refused(lambda d: d["kernels"][0]["default"].pop("samples")))
    self.assertTrue(refused(lambda d: d["kernels"][0]["best"].update(
        failure={"kind": "crash", "message": ""})))
    self.assertFalse(refused(lambda d: None))


if __name__ == "__main__":
  unittest.main()
