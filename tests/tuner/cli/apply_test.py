"""`autotune apply` from outside: cuts, tiles, the other forms of output, validation, its JSON.

Usage: apply_test.py AUTOTUNE_BINARY SOURCE_DIR [unittest options]

What needs libtpu, a CPU plugin or jaxlib (in the Python that $AUTOTUNE_PYTHON names) is skipped where that
is missing.
"""

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

PROGRAM = """HloModule small

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %add = f32[] add(%a, %b)
}

ENTRY %main (x: f32[512,1024], w: f32[1024,512]) -> (f32[512,512], f32[512]) {
  %x = f32[512,1024] parameter(0)
  %w = f32[1024,512] parameter(1)
  %y = f32[512,512] dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %z = f32[512,512] tanh(%y)
  %zero = f32[] constant(0)
  %r = f32[512] reduce(%x, %zero), dimensions={1}, to_apply=%sum
  ROOT %t = (f32[512,512], f32[512]) tuple(%z, %r)
}
"""


def best_of(kernels):
  return {"schema": "autotune.best/1", "program": "small.hlo", "program_name": "small", "run": "r",
          "device": "tpu-v3", "backend": "aot", "versions": "", "time_source": "estimate",
          "kernels": kernels}


CUT = best_of([{"name": "small", "kind": "program", "count": 1, "fingerprint": "0000000000000001",
                "config": {"fusion": {"cuts": [0]}},
                "default_config": {"fusion": {"cuts": []}}}])


class ApplyTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="autotune-apply-"))
    (cls.folder / "small.hlo").write_text(PROGRAM)
    (cls.folder / "cut.json").write_text(json.dumps(CUT))
    listed = cls.run_command("backends", "--json")
    backends = {one["name"]: one for one in json.loads(listed.stdout)["backends"]}
    cls.has_compiler = backends["aot"]["available"]
    cls.has_device = backends["pjrt"]["available"]

  @classmethod
  def tearDownClass(cls):
    shutil.rmtree(cls.folder, ignore_errors=True)

  @classmethod
  def run_command(cls, *arguments):
    # Plugins are looked for in .deps of the current folder, among others.
    return subprocess.run([BINARY, *map(str, arguments)], cwd=SOURCE, capture_output=True,
                          text=True, timeout=500, check=False)

  def apply(self, config, out, *options, code=0):
    result = self.run_command("apply", self.folder / "small.hlo", "--config", self.folder / config,
                              "--out", self.folder / out, *options)
    self.assertEqual(code, result.returncode, result.stderr)
    return result

  def check_json(self, text):
    document = json.loads(text)
    self.assertEqual("autotune.apply/1", document["schema"])
    if jsonschema is not None:
      schema = json.loads((SOURCE / "docs" / "schema" / "autotune.apply.1.json").read_text())
      jsonschema.Draft202012Validator.check_schema(schema)
      jsonschema.Draft202012Validator(schema).validate(document)
    return document

  def test_cuts_need_no_compiler(self):
    document = self.check_json(self.apply("cut.json", "cut.hlo", "--json").stdout)
    self.assertEqual(1, document["cuts"])
    self.assertEqual("applied", document["kernels"][0]["outcome"])
    self.assertEqual("", document["device"])
    self.assertIn("opt-barrier(", (self.folder / "cut.hlo").read_text())
    self.assertIn("1 kernels changed, ",
                  self.apply("cut.json", "cut.pb", "--to", "pb").stdout)
    checked = self.run_command("check", self.folder / "cut.pb", self.folder / "cut.hlo")
    self.assertEqual(0, checked.returncode, checked.stdout)

  def test_a_cut_program_gives_the_same_results(self):
    if not self.has_device:
      self.skipTest("no CPU plugin")
    document = self.check_json(self.apply("cut.json", "valid.hlo", "--validate", "--json").stdout)
    self.assertTrue(document["validated"])

  def test_cuts_as_stablehlo(self):
    python = os.environ.get("AUTOTUNE_PYTHON", "python3")
    probe = None
    if shutil.which(python):
      probe = subprocess.run([python, "-c", "from jaxlib import _jax; _jax.mlir.hlo_to_stablehlo"],
                             capture_output=True, check=False)
    if probe is None or probe.returncode != 0:
      result = self.apply("cut.json", "cut.mlir", "--to", "stablehlo", code=4)
      self.assertIn("needs jaxlib", result.stderr)
      return
    self.apply("cut.json", "cut.mlir", "--to", "stablehlo")
    code = (self.folder / "cut.mlir").read_bytes()
    self.assertTrue(code.startswith(b"ML\xefR"), code[:8])  # the magic number of MLIR bytecode
    self.assertIn(b"optimization_barrier", code)

  def test_wrong_use(self):
    self.assertIn("--to takes", self.apply("cut.json", "x", "--to", "exe", code=2).stderr)
    self.assertIn("--form takes", self.apply("cut.json", "x", "--form", "exe", code=2).stderr)
    self.apply("missing.json", "x", code=3)
    (self.folder / "not.json").write_text("{}")
    self.apply("not.json", "x", code=3)

  def test_what_fails_leaves_no_other_output(self):
    if not self.has_compiler:
      self.skipTest("libtpu is not installed")
    nowhere = self.folder / "missing" / "file"
    result = self.apply("cut.json", "whole.hlo", "--serialize", nowhere, code=4)
    self.assertIn(str(nowhere), result.stderr)
    self.assertFalse((self.folder / "whole.hlo").exists())
    result = self.apply("cut.json", nowhere, "--serialize", self.folder / "cut.exe", code=4)
    self.assertIn("cut.exe was written before", result.stderr)

  def test_one_file_does_not_take_both_outputs(self):
    out = self.folder / "both.hlo"
    for same in [out, self.folder / "." / "nothing" / ".." / "both.hlo"]:
      result = self.apply("cut.json", "both.hlo", "--serialize", same, code=2)
      self.assertIn("--serialize and --out are both", result.stderr)
    self.assertFalse(out.exists())

  def test_a_program_optimised_for_another_generation_is_refused(self):
    example = SOURCE / "examples" / "alexnet"
    alexnet, recording = example / "program.hlo", example / "tpu_v3.pb"
    tiles = best_of([{"name": "fusion.1", "kind": "fusion", "count": 1,
                      "fingerprint": "0000000000000001", "config": {"tile": {"output": [8, 8]}},
                      "default_config": {"tile": {"output": [8, 16]}}}])
    (self.folder / "alexnet.json").write_text(json.dumps(tiles))
    to_v5e = ["--target", "v5e", "--out", self.folder / "other"]
    tune = ["--backend", "aot", "--budget", 1, *to_v5e]
    for command in [[alexnet, *tune], [recording, *tune], [alexnet, recording, *tune],
                    ["record", alexnet, *to_v5e],
                    ["record", self.folder / "small.hlo", alexnet, *to_v5e],
                    ["apply", alexnet, "--config", self.folder / "alexnet.json", *to_v5e]]:
      found = self.run_command(*command)
      self.assertEqual(2, found.returncode, found.stderr)
      self.assertIn("already optimised, for tpu-v2 or tpu-v3 and not for tpu-v5e", found.stderr)
      self.assertIn("examples/alexnet" if len(command) < 10 else "2 programs, kernel", found.stderr)
      self.assertIn("; give the program before optimisation or", found.stderr)
      self.assertEqual([], list(self.folder.glob("other*")))

  def test_the_target_of_an_optimised_program_without_the_option(self):
    if not self.has_compiler:
      self.skipTest("libtpu is not installed")
    found = self.run_command(SOURCE / "examples" / "alexnet" / "program.hlo", "--backend", "aot",
                             "--budget", 1, "--out", self.folder / "told")
    self.assertEqual(0, found.returncode, found.stderr)
    self.assertIn("tpu-v3", found.stdout)
    self.assertIn("layouts are those of tpu-v2 or tpu-v3, --target names another", found.stdout)

  def test_tiles_are_what_the_compiler_obeys(self):
    if not self.has_compiler:
      self.skipTest("libtpu is not installed")
    found = self.run_command(self.folder / "small.hlo", "--backend", "aot", "--target", "v3",
                             "--budget", 0, "--out", self.folder / "run", "--quiet")
    self.assertEqual(1, found.returncode, found.stderr)  # nothing measured, but kernels found
    best = json.loads((self.folder / "run" / "best.json").read_text())
    tiles = {"reduce": {"output": [8, 8]},
             "convolution fusion": {"kernel": [16, 4], "output": [64, 4]}}
    for kernel in best["kernels"]:
      kernel["config"] = {"tile": tiles[kernel["kind"]]}
    (self.folder / "tiles.json").write_text(json.dumps(best))
    options = ["--serialize", self.folder / "tuned.exe"]
    if self.has_device:
      options.append("--validate")
    document = self.check_json(self.apply("tiles.json", "tuned.hlo", "--json", *options).stdout)
    self.assertEqual("tpu-v3", document["device"])
    self.assertEqual("scheduled", document["form"])
    self.assertEqual(["applied", "applied"], [k["outcome"] for k in document["kernels"]])
    self.assertEqual([[k["name"]] for k in document["kernels"]],
                     [k["instructions"] for k in document["kernels"]])
    text = (self.folder / "tuned.hlo").read_text()
    self.assertIn("is_scheduled=true", text)
    self.assertIn('"output_window_bounds":["64","4"]', text)
    self.assertGreater((self.folder / "tuned.exe").stat().st_size, 1000)
    self.check_source_form()
    self.check_optimized_program(best)
    # A tile of another rank is refused by name, and the rest is still written.
    best["kernels"][0]["config"] = {"tile": {"output": [8, 8, 8, 8]}}
    (self.folder / "wrong.json").write_text(json.dumps(best))
    document = self.check_json(self.apply("wrong.json", "part.hlo", "--json").stdout)
    outcomes = {k["name"]: k["outcome"] for k in document["kernels"]}
    self.assertEqual(["applied", "not-applied"], sorted(outcomes.values()))
    self.assertNotEqual("", document["kernels"][0]["detail"])

  def check_optimized_program(self, best):
    """tuned.hlo is an optimised program: other tiles need no source, cuts do."""
    best = json.loads(json.dumps(best))
    for kernel in best["kernels"]:
      if kernel["kind"] == "reduce":
        kernel["config"] = {"tile": {"output": [4, 8]}}
    (self.folder / "again.json").write_text(json.dumps(best))
    arguments = ["apply", self.folder / "tuned.hlo", "--out", self.folder / "again.hlo", "--json"]
    result = self.run_command(*arguments, "--config", self.folder / "again.json")
    document = self.check_json(result.stdout)
    self.assertEqual(["applied", "default"], sorted(k["outcome"] for k in document["kernels"]))
    self.assertIn('"output_window_bounds":["4","8"]', (self.folder / "again.hlo").read_text())
    result = self.run_command(*arguments, "--config", self.folder / "cut.json")
    self.assertEqual(3, result.returncode, result.stderr)
    self.assertIn("cuts need one", result.stderr)
    for options in (["--form", "source"], ["--to", "stablehlo"]):
      result = self.run_command(*arguments, "--config", self.folder / "again.json", *options)
      self.assertEqual(3, result.returncode, result.stderr)
    if self.has_device:
      result = self.run_command(*arguments, "--config", self.folder / "again.json", "--validate")
      self.assertEqual(2, result.returncode, result.stderr)
      self.assertIn("--source", result.stderr)

  def check_source_form(self):
    result = self.apply("tiles.json", "source.hlo", "--json", "--form", "source")
    document = self.check_json(result.stdout)
    self.assertEqual("source", document["form"])
    self.assertEqual([["r"], ["y"]], sorted(k["instructions"] for k in document["kernels"]))
    text = (self.folder / "source.hlo").read_text()
    self.assertEqual(2, text.count('"window_config"'))
    self.assertIn('"output_window_bounds":["64","4"]', text)
    self.assertIn(" convolution(", text)  # a dot would not hold a tile


if __name__ == "__main__":
  unittest.main()
