"""The `autotune` command from outside: output, files, exit codes, messages, interruption.

Usage: cli_test.py AUTOTUNE_BINARY SOURCE_DIR [unittest options]
"""

import csv
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile

BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
EXAMPLE = SOURCE / "examples" / "alexnet"
PROGRAM = EXAMPLE / "program.hlo"
RECORDING = EXAMPLE / "tpu_v3.pb"
SHARED = SOURCE.parent / "shared" / "data"

# The same with and without LibTorch, and no slower: learned_test.py tests the learned model, which
# is the default where it can be had.
os.environ["AUTOTUNE_WEIGHTS"] = "/nowhere"

TEXT = """HloModule m

ENTRY e {
  a = f32[8,128]{1,0} parameter(0)
  ROOT b = f32[8,128]{1,0} negate(a)
}
"""


STABLEHLO = """module @jit_f {
  func.func public @main(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.tanh %a : tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}
"""


class CliTestCase(unittest.TestCase):
  maxDiff = None

  def setUp(self):
    self.directory = pathlib.Path(tempfile.mkdtemp(prefix="autotune_cli_"))
    self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

  def path(self, name, content=None):
    path = self.directory / name
    if content is not None:
      path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path

  def run_cli(self, *arguments, **options):
    return subprocess.run(
        [BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=120,
        cwd=self.directory, **options)

  def expect(self, code, *arguments, **options):
    result = self.run_cli(*arguments, **options)
    self.assertEqual(result.returncode, code,
                     f"{arguments}\nstdout: {result.stdout}\nstderr: {result.stderr}")
    return result

  def tune(self, *arguments, code=0, **options):
    return self.expect(code, PROGRAM, "--recording", RECORDING, *arguments, **options)


class GeneralTest(CliTestCase):

  def test_version(self):
    self.assertRegex(self.expect(0, "--version").stdout, r"^autotune \d+\.\d+\.\d+\n$")

  def test_help_of_every_command_teaches(self):
    top = self.expect(0, "--help").stdout
    self.assertIn("Examples:", top)
    commands = re.findall(r"^  ([a-z]+) +[A-Z]", top, re.MULTILINE)
    self.assertIn("tune", commands)
    self.assertIn("check", commands)
    for command in commands:
      with self.subTest(command):
        self.assertIn("xample", self.expect(0, command, "--help").stdout)

  def test_without_arguments_shows_help(self):
    self.assertIn("autotune program.hlo", self.expect(0).stdout)

  def test_wrong_options_are_named(self):
    for arguments, named in [
        (["--no-such-option"], "--no-such-option"),
        (["--budget", "-1"], "--budget"),
        (["--budget", "many"], "--budget"),
        (["--budget-seconds", "-2"], "--budget-seconds"),
        (["--strategy", "guess"], "model-greedy"),
        (["--model", "oracle"], "--model"),
        (["--target", "v99"], "--target"),
        (["--target", "v5e"], "recorded on tpu-v3"),
        (["--top-k", "0"], "--top-k"),
        (["--repeats", "0"], "--repeats"),
        (["--backend", "abacus"], "--backend"),
        (["--strategy", "model-greedy", "--model", "none"], "needs a model"),
        (["--store", "mysql:x"], "mysql:x"),
        (["--space", "foo"], "--space takes tile, layout"),
        (["--resume"], "--out"),
    ]:
      with self.subTest(" ".join(arguments)):
        result = self.tune(*arguments, code=2)
        self.assertIn(named, result.stderr)
        self.assertEqual("", result.stdout, "no headline before an error")
        self.assertEqual([], list(self.directory.iterdir()), "wrong use leaves nothing behind")

  def commands(self):
    """Every command, commands of commands included, as lists of words."""
    found = []
    waiting = [[]]
    while waiting:
      command = waiting.pop()
      text = self.expect(0, *command, "--help").stdout
      below = text.split("Subcommands:")[1].split("\n\n")[0] if "Subcommands:" in text else ""
      names = re.findall(r"^  ([a-z]+) +[A-Z]", below, re.MULTILINE)
      waiting += [command + [name] for name in names]
      if not names:
        found.append((command, text))
    return found

  def test_every_number_of_every_command_is_checked(self):
    wrong = ["-1", "nan", "inf", "-inf", "1e999", "99999999999999999999999", "12x", "0x10", ""]
    tried = 0
    for command, text in self.commands():
      for option, kind in re.findall(r"^  (--[a-z-]+) (INT|UINT|FLOAT)", text, re.MULTILINE):
        for value in wrong + (["1.5"] if kind != "FLOAT" else []):
          with self.subTest(command=" ".join(command), option=option, value=value):
            result = self.expect(2, *command, f"{option}={value}")
            self.assertIn(option, result.stderr)
            if value:  # an option without any value is another mistake
              self.assertIn("number from", result.stderr)
              self.assertIn(f'got "{value}"', result.stderr)
            tried += 1
    self.assertGreater(tried, 150)

  def test_largest_numbers_of_every_option_are_taken(self):
    # The ends of the ranges must do no harm: no memory without bounds, no overflow.
    for arguments in [
        ["--seed", 2**64 - 1], ["--budget", 10**9], ["--top-k", 10**4], ["--repeats", 10**6],
        ["--jobs", 1024], ["--budget-seconds", 1e9], ["--compile-seconds", 1e9],
        ["--timeout-seconds", 1e6]]:
      with self.subTest(arguments[0]):
        self.expect(0, RECORDING, "--out", "run" + arguments[0], "--quiet", *arguments)
    for arguments in [["--max-evaluations", 10**9], ["--compile-seconds", 1e9], ["--exploration", 1],
                      ["--repeats", 10**6], ["--seed", 2**64 - 1], ["--jobs", 1024]]:
      with self.subTest(arguments[0]):
        self.expect(0, "compare", RECORDING, "--seeds", 1, "--methods", "random", *arguments)

  def test_json_is_written_in_one_place(self):
    # DumpJson alone replaces bytes that are no UTF-8; elsewhere they would end the command.
    allowed = {"printable.cc", "html_page.cc"}
    for path in sorted((SOURCE / "tuner").glob("*.cc")):
      if path.name not in allowed:
        self.assertNotRegex(path.read_text(), r"[.>]dump\(", path.name)

  def test_unknown_command(self):
    error = self.expect(2, "inspct", PROGRAM).stderr
    self.assertIn("neither a command nor a file", error)
    self.assertIn("autotune inspect", error)
    self.assertIn("neither a command nor a file", self.expect(2, "bogus").stderr)
    self.assertNotIn("did you mean", self.expect(2, "bogus").stderr)
    # What is there is a file, whatever its name looks like.
    shutil.copy(RECORDING, self.directory / "inspekt")
    self.expect(0, "inspekt", "--budget", 1, "--quiet")

  def test_no_program(self):
    self.assertIn("which program", self.expect(2, "--budget", "3").stderr)

  def test_no_backend_says_how_to_get_one(self):
    # A home without Python packages: the TPU compiler is not found either.
    nowhere = {**os.environ, "PATH": "/nonexistent", "HOME": str(self.directory),
               "AUTOTUNE_LIBTPU": "/nonexistent/libtpu.so"}
    self.assertIn("libtpu", self.expect(4, PROGRAM, "--backend", "aot", env=nowhere).stderr)


class TuneTest(CliTestCase):

  def test_example(self):
    result = self.tune("--budget", 40, "--out", "run")
    lines = result.stdout.splitlines()
    self.assertTrue(lines[0].startswith("backend: replay for tpu-v3, hardware times (--recording"))
    header = next(line for line in lines if line.startswith("kernel "))
    for column in ["kind", "count", "default", "best found", "best known", "speed-up", "measured"]:
      self.assertIn(column, header)
    self.assertRegex(result.stdout, r"fusion\.191 +convolution fusion +1 +151\.6 us")
    self.assertRegex(result.stdout, r"reshape\.37 \* ")
    self.assertIn("opaque", result.stdout)
    for total in ["compiler's default", "best found", "best known"]:
      self.assertRegex(result.stdout, rf"(?m)^{total} +\d")
    self.assertIn("40 of 40 measurements", result.stdout)
    self.assertIn("40 of 40 measured", result.stderr)
    for name in ["best.json", "report.json", "report.html", "records.db", "run.json"]:
      self.assertTrue((self.directory / "run" / name).is_file(), name)

  def test_without_trained_weights_a_note_says_which_model_ranks(self):
    result = self.tune("--budget", 12, "--out", "run")
    self.assertIn("note: the analytical model ranks, not the learned one: no trained model",
                  result.stderr)
    self.assertIn("model analytical", result.stdout)
    given = self.tune("--budget", 12, "--out", "given", "--model", "analytical")
    self.assertNotIn("note:", given.stderr)
    stored = json.loads((self.directory / "run/run.json").read_text())
    self.assertEqual("analytical", stored["options"]["--model"])

  def test_golden_text(self):
    """The whole output; AUTOTUNE_UPDATE_GOLDEN=1 writes it anew."""
    shutil.copytree(EXAMPLE, self.directory / "alexnet")
    result = self.expect(0, "alexnet/program.hlo", "--recording", "alexnet/tpu_v3.pb", "--model",
                         "analytical", "--budget", 40, "--out", "run", "--quiet")
    text = re.sub(r"measurements, \d+\.\d\d s", "measurements, T s", result.stdout)
    text = text.replace(str(BINARY), "autotune")
    golden = SOURCE / "tests" / "golden" / "tune_alexnet.txt"
    if os.environ.get("AUTOTUNE_UPDATE_GOLDEN"):
      golden.write_text(text)
    self.assertEqual(golden.read_text(), text)

  def test_json_is_one_document_and_agrees_with_the_files(self):
    result = self.tune("--budget", 40, "--out", "run", "--json", "--quiet")
    document = json.loads(result.stdout)
    self.assertEqual("", result.stderr)
    self.assertEqual("autotune.tune/1", document["schema"])
    self.assertEqual(json.loads((self.directory / "run/report.json").read_text()), document)
    self.assertEqual(40, document["measurements"])
    self.assertEqual(40, sum(kernel["measurements"] for kernel in document["kernels"]))
    measured = [c for c in document["candidates"] if c["fate"] == "measured"]
    self.assertEqual(40, len(measured))
    self.assertEqual(["default"] * 10, [c["role"] for c in measured[:10]])
    totals = {total["name"]: total["seconds"] for total in document["totals"]}
    expected = sum(k["count"] * k["best"]["seconds"] for k in document["kernels"])
    self.assertAlmostEqual(expected, totals["best found"], places=12)
    self.assertLessEqual(totals["best known"], totals["best found"] * 1.0000001)
    self.assertAlmostEqual(totals["default"] / totals["best found"], document["speedup"], places=9)
    best = json.loads((self.directory / "run/best.json").read_text())
    self.assertEqual("autotune.best/1", best["schema"])
    self.assertEqual([k["best"]["config"] for k in document["kernels"]],
                     [k["config"] for k in best["kernels"]])

  def test_records_hold_every_measurement(self):
    self.tune("--budget", 40, "--out", "run", "--quiet")
    with sqlite3.connect(self.directory / "run/records.db") as database:
      tables = [row[0] for row in database.execute("select name from sqlite_master")]
    self.assertTrue(any("candidate" in table for table in tables), tables)

  def test_same_seed_same_run(self):
    def run(out, *options):
      result = self.tune("--budget", 60, "--seed", 7, "--json", "--quiet", "--out", out, *options)
      return [(c["kernel"], c["config"], c["fate"]) for c in json.loads(result.stdout)["candidates"]]

    self.assertEqual(run("a"), run("b", "--jobs", "1"))

  def test_a_recording_alone_is_a_program(self):
    result = self.expect(0, RECORDING, "--budget", 12, "--out", "run")
    self.assertIn("is a recording", result.stdout.splitlines()[0])
    self.assertIn("fusion.232", result.stdout)

  def test_tune_is_the_default_command(self):
    a = self.expect(0, "tune", RECORDING, "--budget", 5, "--json", "--quiet", "--out", "a")
    b = self.expect(0, "--budget", 5, "--json", "--quiet", "--out", "b", RECORDING)
    self.assertEqual(json.loads(a.stdout)["totals"], json.loads(b.stdout)["totals"])

  def test_zero_budget_shows_what_is_recorded(self):
    document = json.loads(self.tune("--budget", 0, "--json", "--quiet").stdout)
    self.assertEqual(0, document["measurements"])
    self.assertTrue(all("default" in kernel for kernel in document["kernels"]))

  def test_default_output_folder_is_new_each_time(self):
    self.tune("--budget", 1, "--quiet")
    self.tune("--budget", 1, "--quiet")
    runs = sorted(path.name for path in (self.directory / "autotune-runs").iterdir())
    self.assertEqual(2, len(runs))
    self.assertRegex(runs[0], r"^\d{8}-\d{6}-alexnet$")

  def test_the_second_run_reuses_the_store(self):
    self.tune("--budget", 40, "--store", "sqlite:shared.db", "--quiet", "--out", "a")
    document = json.loads(self.tune("--budget", 0, "--store", "sqlite:shared.db", "--quiet",
                                    "--out", "b", "--json").stdout)
    self.assertEqual({"hits": 10, "misses": 0, "url": "sqlite:shared.db"}, document["store"])
    self.assertEqual(40, sum(kernel["reused"] for kernel in document["kernels"]))

  def test_several_programs_share_kernels_and_budget(self):
    text = PROGRAM.read_text()
    folder = self.path("dumps")
    folder.mkdir()
    (folder / "module_1.after_optimizations.txt").write_text(
        text.replace("HloModule alexnet", "HloModule second"))
    (folder / "module_1.before_optimizations.txt").write_text(TEXT)
    (folder / "module_1.thread.log").write_text("nothing")
    arguments = [PROGRAM, folder, folder / "*after_optimizations*", "--recording", RECORDING,
                 "--budget", 30, "--seed", 3]
    document = json.loads(self.expect(0, *arguments, "--out", "both", "--json").stdout)
    self.assertEqual(30, document["measurements"])
    single = json.loads(self.tune("--budget", 30, "--seed", 3, "--out", "one", "--json").stdout)
    self.assertEqual(10, len(document["kernels"]))
    self.assertEqual([2 * kernel["count"] for kernel in single["kernels"]],
                     [kernel["count"] for kernel in document["kernels"]])
    first, second = document["programs"]
    self.assertEqual(str(PROGRAM), first["path"])
    self.assertTrue(second["path"].endswith("dumps/module_1.after_optimizations.txt"))
    totals = {total["name"]: total["seconds"] for total in document["totals"]}
    for program in (first, second):
      self.assertAlmostEqual(totals["default"] / 2, program["default_seconds"])
      self.assertAlmostEqual(totals["best found"] / 2, program["best_seconds"])
    self.assertIn("1 of 3 files are left out", " ".join(document["warnings"]))
    page = (self.directory / "both" / "report.html").read_text()
    self.assertIn("10 kernels are part of several programs", page)
    again = self.expect(0, "--out", "both", "--resume", "--quiet").stdout
    self.assertIn("module_1.after_optimizations.txt", again)
    self.assertIn("all programs", again)
    self.assertEqual(document["programs"],
                     json.loads((self.directory / "both" / "report.json").read_text())["programs"])
    self.expect(2, *arguments[:2], "--space", "fusion")

  def test_quiet_and_piped_output_hold_no_escape_sequences(self):
    result = self.tune("--budget", 20)
    self.assertNotIn("\x1b", result.stdout + result.stderr)
    self.assertNotIn("\r", result.stdout + result.stderr)
    self.assertEqual("", self.tune("--budget", 20, "--quiet").stderr)


  def test_layouts_that_were_recorded(self):
    recording = SHARED / "tpu_v3" / "module_layouts.pb"
    if not recording.exists():
      self.skipTest("the shared data is not here")
    for space in [[], ["--space", "layout"]]:
      document = json.loads(self.expect(0, recording, "--budget", 200, "--json", "--quiet", "--out",
                                        f"run{len(space)}", *space).stdout)
      self.assertEqual("layout", document["run"]["space"])
      kernel = document["kernels"][0]
      self.assertEqual(100, kernel["space_size"])
      self.assertEqual(100, document["measurements"])
      # Within 1 % the default wins.
      self.assertLess(kernel["best"]["seconds"], 1.01 * kernel["best_known"]["seconds"])
      self.assertIn("layout", kernel["best"]["config"])
    error = self.expect(3, recording, "--space", "tile", "--out", "none").stderr
    self.assertIn("holds no tiles", error)

  def test_layouts_where_tiles_are_recorded(self):
    self.assertIn("holds no layouts", self.tune("--space", "layout", code=3).stderr)
    self.assertEqual([], list(self.directory.iterdir()))

  def test_a_second_run_in_the_same_folder_says_that_it_reuses(self):
    first = self.tune("--budget", 40, "--out", "run")
    self.assertIn("kernels: 0 hits, 10 misses", first.stdout)
    self.assertNotIn("warning", first.stderr)
    second = self.tune("--budget", 40, "--out", "run")
    self.assertIn("holds the run", second.stderr)
    self.assertIn("kernels: 10 hits, 0 misses", second.stdout)
    self.assertIn("40 results from the store", second.stdout)

  def test_recordings_of_other_content_do_not_answer_for_each_other(self):
    # The same kernels and configurations, other times: 137344 becomes 137345 as a varint.
    def varint(n):
      return bytes([n & 127 | 128, n >> 7 & 127 | 128, n >> 14])

    content = RECORDING.read_bytes()
    self.assertIn(varint(137344), content)
    other = self.path("other.pb", content.replace(varint(137344), varint(137345)))
    shared = ["--store", "sqlite:shared.db", "--json", "--quiet"]
    self.expect(0, RECORDING, "--budget", 1000, "--out", "a", *shared)
    document = json.loads(self.expect(0, other, "--budget", 1000, "--out", "b", *shared).stdout)
    self.assertEqual(0, document["store"]["hits"])
    kernel = next(k for k in document["kernels"] if k["name"] == "fusion.191")
    self.assertAlmostEqual(137345e-9, kernel["best"]["seconds"], places=15)
    # Opaque configurations are known by their position alone: nothing else tells them apart.
    opaque = next(k for k in document["kernels"] if k["name"] == "reshape.37")
    self.assertEqual(0, opaque["reused"])


class HostileNamesTest(CliTestCase):
  """Names come from files that nobody vouches for."""

  NAME = b"\x1b[2J\r\x07\xc2\x9bXY"  # clears the screen; ten bytes, as "fusion.232"

  def setUp(self):
    super().setUp()
    self.assertEqual(10, len(self.NAME))
    self.recording = self.path("hostile.pb",
                               RECORDING.read_bytes().replace(b"fusion.232", self.NAME))

  def assert_clean(self, text, where):
    if isinstance(text, str):
      text = text.encode()
    bad = re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", text)
    self.assertIsNone(bad, f"{where}: {text[max(0, bad.start() - 40):][:80] if bad else b''}")

  def test_no_command_writes_them_raw(self):
    for arguments in [
        [self.recording, "--budget", 30, "--out", "run"],
        [self.recording, "--budget", 30, "--out", "run_json", "--json"],
        [PROGRAM, "--recording", self.recording, "--out", "run_other"],
        ["inspect", self.recording], ["inspect", self.recording, "--json"],
        ["compare", self.recording, "--seeds", 1, "--methods", "random", "--html", "c.html"],
        ["compare", self.recording, "--seeds", 1, "--methods", "random", "--json"],
        ["check", self.recording], ["check", self.recording, "--json"],
        ["convert", self.recording, "--to", "hlo", "--out", "-"],
        ["records", "list", "--store", "sqlite:run/records.db"],
        ["\x1b[2J.hlo"], ["check", "\x1b[2J.hlo"], ["--strategy", "\x1b[2J", "x.hlo"],
        [PROGRAM, "--recording", "\x1b[2J.pb"], ["--\x1b[2J"], ["inspect", "x", "\x1b[2J"],
        ["compare", self.recording, "--methods", "\x1b[2J"], ["\x1b[2J", "--budget", "\x1b[2J"]]:
      with self.subTest(str(arguments)):
        result = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, timeout=60,
                                cwd=self.directory, check=False)
        self.assert_clean(result.stdout, "stdout")
        self.assert_clean(result.stderr, "stderr")
    for name in ["run/report.json", "run/best.json", "run/run.json", "run/report.html", "c.html"]:
      self.assert_clean((self.directory / name).read_bytes(), name)
    run = json.loads((self.directory / "run/report.json").read_text())["run"]["id"]
    for arguments in [["records", "show", run], ["records", "show", run, "--json"]]:
      self.assert_clean(
          self.expect(0, *arguments, "--store", "sqlite:run/records.db").stdout, str(arguments))

  def test_json_keeps_the_name(self):
    names = [k["name"] for k in json.loads(
        self.expect(0, "inspect", self.recording, "--json").stdout)["kernels"]]
    self.assertIn(self.NAME.decode(), names)


class BadInputTest(CliTestCase):

  def bad(self, path, *needed, code=3):
    result = self.expect(code, path, "--recording", RECORDING, "--budget", 5, "--out", "run")
    for text in needed:
      self.assertIn(text, result.stderr)
    self.assertEqual("", result.stdout)
    self.assertFalse((self.directory / "run").exists(), "bad input leaves nothing behind")
    return result.stderr

  def test_missing_file(self):
    self.bad(self.path("nothing.hlo"), "nothing.hlo")

  def test_empty_file(self):
    self.bad(self.path("empty.hlo", ""), "empty.hlo", "empty")

  def test_folder_without_hlo(self):
    folder = self.path("folder")
    folder.mkdir()
    (folder / "notes.txt").write_text("hello")
    self.bad(folder, "folder")

  def test_truncated_protobuf(self):
    whole = subprocess.run(
        [BINARY, "convert", PROGRAM, "--to", "pb", "--out", "-"], capture_output=True, timeout=60)
    self.assertEqual(0, whole.returncode, whole.stderr)
    self.bad(self.path("cut.pb", whole.stdout[:len(whole.stdout) // 2]), "cut.pb")

  def test_truncated_recording(self):
    cut = self.path("cut_recording.pb", RECORDING.read_bytes()[:-1000])
    result = self.expect(3, PROGRAM, "--recording", cut, "--out", "run")
    self.assertIn("cut_recording.pb", result.stderr)

  def test_truncated_recording_as_program(self):
    whole = RECORDING.read_bytes()
    for size in [100, 3000, len(whole) // 2, len(whole) - 10]:
      with self.subTest(size):
        error = self.expect(3, self.path("cut.pb", whole[:size]), "--out", "run").stderr
        self.assertRegex(error, r"(?s)cut\.pb.*(cut off|data is cut)")
        self.assertNotIn("not a program", error)
        self.assertIn("cut.pb", self.expect(3, "check", "cut.pb").stdout)
        self.assertNotIn("not a program", self.expect(3, "check", "cut.pb").stdout)

  def test_program_as_recording(self):
    for command in [[], ["compare"]]:
      error = self.expect(3, *command, RECORDING, "--recording", PROGRAM).stderr
      self.assertIn("program.hlo: this is a program (hlo), not a recording", error)
    for command in (["evaluate", "--model", SOURCE / "weights" / "tile"], ["train", "--out", "model"]):
      error = self.expect(3, *command, "--data", PROGRAM).stderr
      self.assertIn("program.hlo: this is a program (hlo), not a recording of measurements; "
                    "`autotune record` makes one of it", error)
    block = SOURCE / "examples" / "mlp_block" / "mlp_block.hlo"
    error = self.expect(3, "inspect", block, "--fusion", "--recording", PROGRAM).stderr
    self.assertIn("this is no fusion recording", error)
    self.assertIn("empty", self.tune("--recording", self.path("empty.pb", ""), code=3).stderr)

  def test_recording_as_program(self):
    error = self.expect(3, "convert", RECORDING, "--to", "hlo", "--out", "-").stderr
    self.assertIn("this is a recording", error)

  def test_stablehlo_without_a_plugin(self):
    path = self.path("f.mlir", STABLEHLO)
    nowhere = dict(os.environ, AUTOTUNE_LIBTPU="/no/libtpu.so", AUTOTUNE_CPU_PLUGIN="/no/cpu.so")
    checked = json.loads(self.expect(3, "check", path, "--json", env=nowhere).stdout)
    errors = [checked["files"][0]["error"]]
    for arguments in [[path], ["inspect", path], ["convert", path, "--to", "pb", "--out", "x"]]:
      errors.append(self.expect(3, *arguments, env=nowhere).stderr)
    for error in errors:
      self.assertIn("f.mlir: this is StableHLO", error)
      for way in ["jax.jit(f)", "experimental_get_compiler_ir", "torch_xla", "/no/libtpu.so"]:
        self.assertIn(way, error)

  def test_stablehlo_is_imported(self):
    path = self.path("f.mlir", STABLEHLO)
    document = json.loads(self.run_cli("check", path, "--json").stdout)
    if "No plugin can import it here" in document["files"][0].get("error", ""):
      self.skipTest("no PJRT plugin")
    self.assertEqual(0, document["bad"], document)
    self.assertEqual("stablehlo", document["files"][0]["format"])
    self.assertEqual("before optimisation", document["files"][0]["stage"])
    text = self.expect(0, "convert", "-", "--to", "hlo", "--out", "-", input=STABLEHLO).stdout
    self.assertRegex(text, r"ROOT %tanh\S* = f32\[4,8\]")

  def test_verifier_errors_show_the_line(self):
    text = TEXT.replace("ROOT b = f32[8,128]", "ROOT b = f32[8,256]")
    path = self.path("shape.hlo", text)
    shown = "  ROOT b = f32[8,256]{1,0} negate(a)\n         ^"
    for arguments in [[path, "--out", "run"], ["inspect", path]]:
      error = self.expect(3, *arguments).stderr
      self.assertRegex(error, r"shape\.hlo:5:8: .*negate")
      self.assertIn(shown, error)
    document = json.loads(self.expect(3, "check", path, "--json").stdout)
    self.assertIn(shown, document["files"][0]["error"])
    self.assertIn("shape.hlo:5:8:", self.expect(3, "check", path).stdout)
    self.assertIn("<stdin>:5:8:", self.expect(3, "inspect", "-", input=text).stderr)

  def test_missing_recording(self):
    result = self.expect(3, PROGRAM, "--recording", "nowhere.pb", "--out", "run")
    self.assertIn("nowhere.pb", result.stderr)

  def test_syntax_error(self):
    text = TEXT.replace("f32[8,128]{1,0} negate", "f32[8,128{1,0} negate")
    error = self.bad(self.path("syntax.hlo", text), "syntax.hlo:5:", "ROOT b = f32[8,128", "^")
    self.assertRegex(error, r"expected")

  def test_shape_error(self):
    text = TEXT.replace("ROOT b = f32[8,128]", "ROOT b = f32[8,256]")
    self.bad(self.path("shape.hlo", text), "shape.hlo", "5", "negate")

  def test_neither_hlo_nor_recording(self):
    self.bad(self.path("image.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256))), "image.png")

  def test_before_optimisation(self):
    self.bad(self.path("before.hlo", TEXT), "before optimisation", "--backend aot")

  def test_recording_of_other_kernels(self):
    text = """HloModule other, is_scheduled=true

%f (p: f32[8,128]) -> f32[8,128] {
  %p = f32[8,128]{1,0:T(8,128)} parameter(0)
  ROOT %n = f32[8,128]{1,0:T(8,128)} negate(%p)
}

ENTRY %e (a: f32[8,128]) -> f32[8,128] {
  %a = f32[8,128]{1,0:T(8,128)} parameter(0)
  ROOT %fusion.7 = f32[8,128]{1,0:T(8,128)} fusion(%a), kind=kLoop, calls=%f, backend_config={"window_config":{"kernel_window_bounds":[],"output_window_bounds":["1","1"],"input_window_bounds":[],"iteration_bounds":["1","1"],"estimated_cycles":"100"}}
}
"""
    self.bad(self.path("other.hlo", text), "looked for: fusion.7 (loop fusion", "holds: fusion.232")

  def test_several_programs_in_a_folder(self):
    folder = self.path("dump")
    folder.mkdir()
    (folder / "a.hlo").write_text(TEXT)
    (folder / "b.hlo").write_text(TEXT)
    self.bad(folder, "none of the 2 programs holds kernels", "a.hlo")

  def test_output_folder_that_cannot_be_made(self):
    result = self.tune("--out", "/proc/autotune", "--budget", 1, code=4)
    self.assertIn("/proc/autotune", result.stderr)

  def test_output_folder_that_is_a_file(self):
    self.path("taken", "x")
    self.assertIn("taken", self.tune("--out", "taken", "--budget", 1, code=4).stderr)

  def test_damaged_store(self):
    self.path("broken.db", "this is no database, whatever its name says" * 100)
    result = self.tune("--store", "sqlite:broken.db", "--out", "run", code=4)
    self.assertIn("broken.db", result.stderr)
    self.assertNotRegex(result.stderr, r"(?i)sqlite3_|soci|statement_backend|Error while")
    self.assertFalse((self.directory / "run").exists())


class FullDiskTest(CliTestCase):

  def test_full_disk_loses_nothing_and_leaves_no_half_file(self):
    mount = self.path("small")
    mount.mkdir()
    script = (f"mount -t tmpfs -o size=300k tmpfs {mount} || exit 99; "
              f"{BINARY} {PROGRAM} --recording {RECORDING} --budget 1000 --model none "
              f"--out {mount}/run --quiet; "
              f"code=$?; ls {mount}/run; cp -r {mount}/run {self.directory}/kept; exit $code")
    result = subprocess.run(["unshare", "--mount", "--map-root-user", "sh", "-c", script],
                            capture_output=True, text=True, timeout=120, check=False)
    if result.returncode in (99, 1):
      self.skipTest("no private file systems here: " + result.stderr)
    self.assertEqual(4, result.returncode, result.stdout + result.stderr)
    self.assertRegex(result.stderr, r"disk is full|No space left on device")
    self.assertNotRegex(result.stderr, r"(?i)sqlite3_|soci|statement_backend|Error while")
    self.assertNotIn(".tmp", result.stdout)
    for name in ["best.json", "report.json"]:
      path = self.directory / "kept" / name
      if path.exists():
        json.loads(path.read_text())


class StreamsTest(CliTestCase):

  def run_closed(self, stream):
    command = f'exec "$0" "$@" {stream}-'
    return subprocess.run(
        ["sh", "-c", command, BINARY, PROGRAM, "--recording", RECORDING, "--budget", "12", "--quiet",
         "--out", "run"], capture_output=True, text=True, timeout=120, check=False,
        cwd=self.directory)

  def test_closed_output_is_an_error_and_no_file_is_given_its_number(self):
    result = self.run_closed(">&")
    self.assertEqual(4, result.returncode, result.stderr)
    self.assertIn("standard output could not be written", result.stderr)
    run = self.directory / "run"
    self.assertEqual(b"SQLite format 3", (run / "records.db").read_bytes()[:15])
    for path in [run / "run.lock", run / "journal.jsonl"]:
      self.assertNotIn("best found", path.read_text())
    self.expect(0, "records", "verify", "--store", "sqlite:run/records.db")

  def test_closed_input_and_errors_do_no_harm(self):
    for stream in ["<&", "2>&"]:
      with self.subTest(stream):
        result = self.run_closed(stream)
        self.assertEqual(0, result.returncode, result.stderr)
        self.assertIn("best found", result.stdout)
        shutil.rmtree(self.directory / "run")

  def test_full_output_is_an_error_and_the_results_are_kept(self):
    with open("/dev/full", "w", encoding="utf-8") as full:
      result = subprocess.run(
          [BINARY, PROGRAM, "--recording", RECORDING, "--budget", "12", "--quiet", "--out", "run"],
          stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False,
          cwd=self.directory)
    self.assertEqual(4, result.returncode, result.stderr)
    json.loads((self.directory / "run" / "best.json").read_text())


class InterruptTest(CliTestCase):

  def interrupt_while_loading(self, sent):
    """Runs with a pipe as recording; sends a signal before the recording arrives."""
    pipe = self.path("pipe.pb")
    os.mkfifo(pipe)
    process = subprocess.Popen(
        [BINARY, PROGRAM, "--recording", pipe, "--budget", "40", "--out", "run"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.directory)
    descriptor = None
    while descriptor is None:  # can be opened once the command reads
      self.assertIsNone(process.poll(), "the command ended before it read its recording")
      try:
        descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
      except OSError:
        time.sleep(0.005)
    os.set_blocking(descriptor, True)
    process.send_signal(sent)
    with open(descriptor, "wb") as writer:
      writer.write(RECORDING.read_bytes())
    output, errors = process.communicate(timeout=60)
    pipe.unlink()
    shutil.copy(RECORDING, pipe)
    return process.returncode, output, errors

  def test_interrupted_run_says_how_to_resume_and_resumes(self):
    for sent in [signal.SIGINT, signal.SIGTERM]:
      with self.subTest(sent.name):
        code, output, errors = self.interrupt_while_loading(sent)
        self.assertEqual(130, code, output + errors)
        self.assertIn("interrupted", output)
        resume = re.search(r"resume: +(.*)", output).group(1)
        self.assertIn("--resume", resume)
        resumed = subprocess.run(resume + " --json --quiet", shell=True, capture_output=True,
                                 text=True, cwd=self.directory, timeout=60, check=False)
        self.assertEqual(0, resumed.returncode, resumed.stderr)
        unbroken = self.tune("--budget", 40, "--json", "--quiet", "--out", sent.name)
        self.assertEqual(json.loads(unbroken.stdout)["totals"],
                         json.loads(resumed.stdout)["totals"])
        shutil.rmtree(self.directory / "run")
        (self.directory / "pipe.pb").unlink()

  def test_interrupted_in_the_middle(self):
    arguments = ["--model", "none", "--budget", 600, "--json", "--quiet"]
    unbroken = json.loads(self.tune(*arguments, "--out", "unbroken").stdout)
    for delay in [0.05, 0.1, 0.2, 0.4]:
      out = f"run_{delay}"
      process = subprocess.Popen(
          [BINARY, PROGRAM, "--recording", RECORDING, "--out", out, *map(str, arguments)],
          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.directory)
      timer = threading.Timer(delay, process.send_signal, [signal.SIGINT])
      timer.start()
      output, _ = process.communicate(timeout=60)
      timer.cancel()
      if not (self.directory / out / "run.json").exists():
        continue
      if process.returncode == 130:
        self.assertEqual("interrupted", json.loads(output)["run"]["outcome"])
      resumed = json.loads(self.expect(0, "--out", out, "--resume", "--json", "--quiet").stdout)
      self.assertEqual(unbroken["totals"], resumed["totals"])
      self.assertEqual(unbroken["measurements"], resumed["measurements"])

  def test_killed_in_the_middle(self):
    arguments = ["--model", "none", "--budget", 600, "--json", "--quiet"]
    unbroken = json.loads(self.tune(*arguments, "--out", "unbroken").stdout)
    for delay in [0.08, 0.15, 0.3]:
      out = f"run_{delay}"
      process = subprocess.Popen(
          [BINARY, PROGRAM, "--recording", RECORDING, "--out", out, *map(str, arguments)],
          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.directory)
      try:
        process.communicate(timeout=delay)
      except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
      if not (self.directory / out / "run.json").exists():
        continue
      resumed = self.run_cli("--out", out, "--resume", "--json", "--quiet")
      self.assertEqual(0, resumed.returncode, resumed.stderr)
      self.assertEqual(unbroken["totals"], json.loads(resumed.stdout)["totals"])

  def test_resume_refuses_other_options(self):
    self.tune("--budget", 12, "--out", "run", "--quiet")
    result = self.expect(2, "--out", "run", "--resume", "--seed", 9)
    self.assertIn("--seed", result.stderr)

  def test_resume_with_more_budget_goes_on(self):
    self.tune("--budget", 12, "--out", "run", "--quiet")
    document = json.loads(self.expect(0, "--out", "run", "--resume", "--budget", 20, "--json",
                                      "--quiet").stdout)
    self.assertEqual(20, document["measurements"])

    again = json.loads(self.expect(0, "--out", "run", "--resume", "--json", "--quiet").stdout)
    self.assertEqual(20, again["measurements"], "the new budget is the run's budget now")

  def rows(self, where="1"):
    with sqlite3.connect(self.directory / "run/records.db") as database:
      return database.execute(f"select count(*) from candidates where {where}").fetchone()[0]

  def test_more_budget_spends_nothing_twice(self):
    # With another budget rounds are cut in another way: what was measured still counts once.
    for first, second in [(11, 13), (12, 40), (13, 14), (17, 100), (23, 60)]:
      with self.subTest(first=first, second=second):
        self.tune("--budget", first, "--out", "run", "--quiet")
        document = json.loads(self.expect(0, "--out", "run", "--resume", "--budget", second, "--json",
                                          "--quiet").stdout)
        self.assertEqual(second, document["measurements"])
        self.assertEqual(second, self.rows("fate = 'measured'"))
        self.assertEqual(second, sum(k["measurements"] for k in document["kernels"]))
        # Nor is anything measured past it when the run is asked for again: its course was another.
        for _ in range(2):
          self.expect(0, "--out", "run", "--resume", "--quiet")
          self.assertEqual(second, self.rows("fate = 'measured'"))
        shutil.rmtree(self.directory / "run")

  def test_resume_with_less_budget_is_refused_and_changes_nothing(self):
    for option in [["--budget", 11], ["--budget-seconds", 11.5]]:
      self.tune("--budget", 12, "--out", "run", "--quiet")
      names = ["report.json", "best.json", "run.json", "report.html"]
      before = [(self.directory / "run" / name).read_bytes() for name in names]
      error = self.expect(2, "--out", "run", "--resume", *option).stderr
      self.assertRegex(error, rf"{option[0]} {option[1]} is less than the 12")
      self.assertEqual(before, [(self.directory / "run" / name).read_bytes() for name in names])
      shutil.rmtree(self.directory / "run")

  def test_resume_of_a_run_that_overran_its_seconds(self):
    # The last batch may be longer than what was left; the same limit is no smaller budget.
    for option in [[], ["--budget-seconds", 15.5]]:
      first = json.loads(self.tune("--budget-seconds", 15.5, "--out", "run", "--quiet", "--json").stdout)
      self.assertGreater(first["progress"][-1]["device_seconds"], 15.5)
      again = json.loads(self.expect(0, "--out", "run", "--resume", "--quiet", "--json", *option).stdout)
      self.assertEqual(first["measurements"], again["measurements"])
      shutil.rmtree(self.directory / "run")

  def test_resume_of_a_finished_run_adds_nothing(self):
    self.tune("--budget", 12, "--out", "run", "--quiet")
    before = self.rows()
    self.assertGreater(self.rows("fate = 'proposed'"), 0)
    self.expect(0, "--out", "run", "--resume", "--quiet")
    self.assertEqual(before, self.rows())

  def test_resume_from_another_folder(self):
    work = self.directory / "work"
    shutil.copytree(EXAMPLE, work / "alexnet")
    first = subprocess.run(
        [BINARY, "alexnet/program.hlo", "--recording", "alexnet/tpu_v3.pb", "--budget", "12",
         "--out", "run", "--quiet"], cwd=work, capture_output=True, text=True, timeout=60, check=False)
    self.assertEqual(0, first.returncode, first.stderr)
    resumed = json.loads(self.expect(0, "--out", work / "run", "--resume", "--budget", 20, "--json",
                                     "--quiet").stdout)
    self.assertEqual(20, resumed["measurements"])
    # The store of the default place moves with the folder.
    (work / "run").rename(self.directory / "moved")
    moved = json.loads(self.expect(0, "--out", "moved", "--resume", "--json", "--quiet").stdout)
    self.assertEqual(resumed["totals"], moved["totals"])
    # A path given again is the same path, however it is written.
    self.expect(0, "--out", "moved", "--resume", "--quiet", "--recording", "work/alexnet/tpu_v3.pb")

  def test_resume_keeps_jobs(self):
    self.tune("--budget", 12, "--out", "run", "--quiet", "--jobs", 3)
    self.assertEqual(3, json.loads((self.directory / "run/run.json").read_text())["options"]["--jobs"])
    self.assertIn("--jobs", self.expect(2, "--out", "run", "--resume", "--jobs", 2).stderr)

  def test_resume_checks_what_is_stored(self):
    self.tune("--budget", 12, "--out", "run", "--quiet")
    path = self.directory / "run/run.json"
    good = json.loads(path.read_text())
    for option, value in [("--top-k", -5), ("--top-k", 2**63), ("--seed", -1), ("--budget", "many"),
                          ("--repeats", 0), ("--jobs", 10**6), ("--compile-seconds", -1)]:
      with self.subTest(f"{option} {value}"):
        path.write_text(json.dumps({**good, "options": {**good["options"], option: value}}))
        self.assertIn(option, self.expect(3, "--out", "run", "--resume").stderr)

  def test_one_process_at_a_time(self):
    self.tune("--budget", 12, "--out", "run", "--quiet")
    with open(self.directory / "run/run.lock", "r+", encoding="utf-8") as lock:
      fcntl.flock(lock, fcntl.LOCK_EX)
      lock.write(f"{os.getpid()}\n")
      lock.flush()
      for arguments in [["--out", "run", "--resume"], [RECORDING, "--out", "run"]]:
        error = self.expect(4, *arguments).stderr
        self.assertIn(f"another autotune works in run (process {os.getpid()})", error)
    self.expect(0, "--out", "run", "--resume", "--quiet")

  def test_resume_without_a_run(self):
    self.assertIn("holds no run", self.expect(3, "--out", "nowhere", "--resume").stderr)


class CheckTest(CliTestCase):

  def test_good_and_bad(self):
    good = self.path("good.hlo", TEXT)
    bad = self.path("bad.hlo", TEXT.replace("negate(a)", "negate(zzz)"))
    result = self.expect(3, "check", good, bad, RECORDING)
    lines = result.stdout.splitlines()
    self.assertEqual(3, len(lines))
    self.assertRegex(lines[0], r"^ok +.*good\.hlo: hlo, before optimisation, 2 instructions, 1 computations$")
    self.assertRegex(lines[1], r"^bad +.*bad\.hlo:5:\d+: .*zzz")
    self.assertRegex(lines[2], r"^ok +.*tpu_v3\.pb: recording, 10 kernels, 672 runs$")
    self.expect(0, "check", good, RECORDING)

  def test_folder_pattern_and_standard_input(self):
    folder = self.path("dump")
    folder.mkdir()
    for name in ["a", "b", "c"]:
      (folder / f"{name}.hlo").write_text(TEXT)
    self.assertEqual(3, len(self.expect(0, "check", folder).stdout.splitlines()))
    self.assertEqual(2, len(self.expect(0, "check", f"{folder}/[ab].hlo").stdout.splitlines()))
    self.assertEqual(1, len(self.expect(0, "check", "-", input=TEXT).stdout.splitlines()))

  def test_missing_file_is_bad(self):
    self.assertIn("nowhere.hlo", self.expect(3, "check", "nowhere.hlo").stdout)

  def test_json(self):
    document = json.loads(self.expect(0, "check", PROGRAM, "--json").stdout)
    self.assertEqual("autotune.check/1", document["schema"])
    self.assertEqual(0, document["bad"])
    self.assertTrue(document["files"][0]["ok"])
    self.assertGreater(document["files"][0]["instructions"], 50)


class ConvertTest(CliTestCase):

  def test_every_form_and_back(self):
    text = self.path("program.hlo", TEXT)
    self.expect(0, "convert", text, "--to", "hlo", "--out", "first.hlo")
    for form in ["pb", "hloproto", "pbtxt"]:
      with self.subTest(form):
        self.expect(0, "convert", text, "--to", form, "--out", f"program.{form}")
        self.expect(0, "convert", f"program.{form}", "--to", "hlo", "--out", "back.hlo")
        self.assertEqual((self.directory / "first.hlo").read_text(),
                         (self.directory / "back.hlo").read_text())

  def test_wrong_form(self):
    text = self.path("program.hlo", TEXT)
    self.assertIn("--to", self.expect(2, "convert", text, "--to", "onnx", "--out", "x").stderr)

  def test_an_unsound_program_is_converted_with_a_warning(self):
    bad = self.path("bad.hlo", "ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT r = f32[5] negate(p)\n}\n")
    self.assertIn("bad.hlo:3:8: ", self.expect(3, "check", bad).stdout)
    result = self.expect(0, "convert", bad, "--to", "hlo", "--out", "-")
    self.assertIn("ROOT %r = f32[5]", result.stdout)
    self.assertRegex(result.stderr, r"warning: .*bad.hlo:3:8: 'r' in 'e': declared as f32\[5\]")

  def test_what_is_beside_the_module_stays_or_is_named(self):
    text = self.path("program.hlo", TEXT)
    self.expect(0, "convert", text, "--to", "hloproto", "--out", "program.pb")
    path = self.directory / "program.pb"
    module = path.read_bytes()
    beside = b"\x1a\x04\x0a\x02\x08\x01" + b"\xf8\x7c\x05"  # a buffer assignment and field 1999
    path.write_bytes(module + beside)
    result = self.expect(0, "convert", "program.pb", "--to", "hloproto", "--out", "again.pb")
    self.assertEqual("", result.stderr)
    self.assertEqual(module + beside, (self.directory / "again.pb").read_bytes())
    result = self.expect(0, "convert", "program.pb", "--to", "hlo", "--out", "-")
    self.assertEqual("warning: program.pb: what the file holds beside the module is left out (buffer_assignment, "
                     "field 1999); --to hloproto keeps a HloProto's\n", result.stderr)
    # The same field within the module.
    self.expect(0, "convert", text, "--to", "pb", "--out", "module.pb")
    with open(self.directory / "module.pb", "ab") as file:
      file.write(b"\xf8\x7c\x05")
    for form in ["hlo", "pbtxt"]:
      result = self.expect(0, "convert", "module.pb", "--to", form, "--out", "back")
      self.assertEqual("warning: module.pb: 1 field of a newer XLA is left out; --to pb keeps what is unknown\n", result.stderr)
      self.expect(0, "check", "back")
    self.assertEqual("", self.expect(0, "convert", "module.pb", "--to", "pb", "--out", "back").stderr)
    self.assertEqual((self.directory / "module.pb").read_bytes()[-3:], (self.directory / "back").read_bytes()[-3:])

  def test_elided_constants_in_a_protobuf_get_a_warning(self):
    text = self.path("elided.hlo", "HloModule m\nENTRY e { ROOT c = f32[16] constant({...}) }\n")
    result = self.expect(0, "convert", text, "--to", "pb", "--out", "elided.pb")
    self.assertIn("1 constant was elided", result.stderr)
    self.assertEqual(self.expect(0, "convert", text, "--to", "hlo", "--out", "-").stderr, "")

  @unittest.skipIf(os.geteuid() == 0, "root reads everything")
  def test_a_folder_that_may_not_be_read(self):
    folder = self.directory / "closed"
    folder.mkdir(mode=0)
    self.assertIn("Permission denied", self.expect(3, "check", folder).stderr)

  def test_bad_input_leaves_no_file(self):
    bad = self.path("bad.hlo", "HloModule")
    self.expect(3, "convert", bad, "--to", "pb", "--out", "x.pb")
    self.assertFalse((self.directory / "x.pb").exists())

  def test_full_device(self):
    text = self.path("program.hlo", TEXT)
    with open("/dev/full", "w") as full:
      result = subprocess.run([BINARY, "convert", text, "--to", "hlo", "--out", "-"], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    self.assertEqual(4, result.returncode)
    self.assertIn("standard output", result.stderr)


class InspectTest(CliTestCase):

  def test_example(self):
    output = self.expect(0, "inspect", PROGRAM, "--target", "v3").stdout
    for column in ["FLOPs", "bytes", "roofline", "compiler", "analytical", "share"]:
      self.assertIn(column, output)
    self.assertRegex(output, r"fusion\.191 +convolution fusion +1 ")
    self.assertIn("where the time goes", output)

  def test_json(self):
    document = json.loads(self.expect(0, "inspect", PROGRAM, "--target", "v3", "--json").stdout)
    self.assertEqual("autotune.inspect/1", document["schema"])
    kernel = next(k for k in document["kernels"] if k["name"] == "fusion.191")
    # 2 x 32 x 12 x 12 x 384 x 3 x 3 x 192, less what falls on padding, and the fused rest.
    self.assertGreater(kernel["flops"], 5.0e9)
    self.assertLess(kernel["flops"], 6.2e9)

  def test_before_optimisation(self):
    output = self.expect(0, "inspect", self.path("before.hlo", TEXT)).stdout
    self.assertIn("before optimisation", output)
    self.assertIn("--backend aot", output)

  def test_unknown_target(self):
    self.assertIn("tpu-v3", self.expect(2, "inspect", PROGRAM, "--target", "gpu").stderr)


class FusionOptionsTest(CliTestCase):
  BLOCK = SOURCE / "examples" / "mlp_block"

  def refused(self, message, *arguments):
    self.assertIn(message, self.expect(2, *arguments).stderr)

  def test_what_a_run_of_fusions_cannot_do_is_refused(self):
    fusion = ["tune", self.BLOCK / "mlp_block.hlo", "--out", "o", "--space", "fusion", "--recording",
              self.BLOCK / "fusions_v3.jsonl.gz"]
    self.refused("a --budget of at least 1", *fusion, "--budget", 0)
    self.refused("--budget-seconds is not for --space fusion", *fusion, "--budget-seconds", 9)
    self.refused("--store is not for --space fusion", *fusion, "--store", "sqlite:x.db")
    self.refused("needs no --resume", "tune", "--out", "o", "--resume", *fusion[1:2], *fusion[4:])
    self.refused("is replayed, not compiled", *fusion, "--backend", "pjrt")
    joint = ["tune", self.BLOCK / "mlp_block.hlo", "--out", "o", "--space", "tile+fusion"]
    self.refused("a --budget of at least 10", *joint, "--budget", 9)
    self.refused("works live", *joint, "--json")
    self.assertFalse((self.directory / "o").exists())

  def test_runs_of_tiles_and_of_fusions_share_no_folder(self):
    fusion = ["tune", self.BLOCK / "mlp_block.hlo", "--space", "fusion", "--recording",
              self.BLOCK / "fusions_v3.jsonl.gz", "--budget", 3, "--quiet", "--out"]
    self.expect(0, *fusion, "cuts")
    before = (self.directory / "cuts" / "best.json").read_text()
    tiles = ["tune", PROGRAM, "--recording", RECORDING, "--budget", 3, "--quiet", "--out"]
    self.refused("holds a run of fusions", *tiles, "cuts")
    self.assertEqual(before, (self.directory / "cuts" / "best.json").read_text())
    self.assertIn("a run of fusions", self.expect(3, "report", "cuts").stderr)
    self.expect(0, *tiles, "tiles")
    self.refused("holds a run of tiles", *fusion, "tiles")

  def test_what_a_comparison_of_fusions_cannot_do_is_refused(self):
    compare = ["compare", self.BLOCK / "mlp_block.hlo", "--recording",
               self.BLOCK / "fusions_v3.jsonl.gz"]
    self.refused("--html is not for recordings of fusions", *compare, "--html", "page.html")
    self.refused("--with-default is not", *compare, "--with-default")


class InspectFusionTest(CliTestCase):
  BLOCK = SOURCE / "examples" / "mlp_block"

  def test_cuts_and_merges_by_each_model(self):
    text = self.expect(0, "inspect", self.BLOCK / "mlp_block.hlo", "--fusion", "--target", "v3").stdout
    self.assertRegex(text, r"cut 0  dot_general\.2 -> add\.7  analytical [+-]\d+\.\d\d %\n")
    self.assertIn("by the analytical model", text)
    text = self.expect(0, "inspect", self.BLOCK / "mlp_block.hlo", "--fusion", "--recording",
                       self.BLOCK / "fusions_v3.jsonl.gz").stdout
    change = r"[+-]\d+\.\d\d %"
    self.assertRegex(text, rf"cut \d+  \S+ -> \S+  analytical {change}  refitted {change}"
                           rf"  compiled {change}, bundles {change}, compiler {change}\n")
    drawn = self.expect(0, "inspect", self.BLOCK / "mlp_block.hlo", "--fusion", "--dot", "--recording",
                        self.BLOCK / "fusions_v3.jsonl.gz").stdout
    self.assertIn('label=" 0: +14.09 %", edgetooltip="cut 0, dot_general.2 -> add.7: ', drawn)
    self.assertIn("18 fusible edges; 1 kernel, 139.7 us by the static schedule of the default", text)
    result = self.expect(2, "inspect", self.BLOCK / "mlp_block.hlo", "--fusion", "--target", "v5e",
                         "--recording", self.BLOCK / "fusions_v3.jsonl.gz")
    self.assertIn("tpu-v3", result.stderr)

  def test_a_picture_is_drawn_by_the_dot_of_path(self):
    folder = self.directory / "bin"
    folder.mkdir()
    dot = folder / "dot"
    dot.write_text("#!/bin/sh\necho \"<svg>$1 $2\" > \"$3\"\n/bin/cat \"$4\" >> \"$3\"\n")
    dot.chmod(0o755)
    arguments = ["inspect", self.BLOCK / "mlp_block.hlo", "--fusion", "--target", "v3"]
    environment = dict(os.environ, PATH=str(folder))
    result = self.expect(0, *arguments, "--svg", "groups.svg", env=environment)
    self.assertEqual("", result.stdout)
    self.assertIn("groups.svg", result.stderr)
    drawn = (self.directory / "groups.svg").read_text()
    self.assertTrue(drawn.startswith("<svg>-Tsvg -o\n"), drawn)
    self.assertEqual(self.expect(0, *arguments, "--dot").stdout, drawn.split("\n", 1)[1])

  def test_without_graphviz_the_package_is_named(self):
    environment = dict(os.environ, PATH=str(self.directory))
    result = self.expect(4, "inspect", self.BLOCK / "mlp_block.hlo", "--fusion", "--svg", "groups.svg",
                         env=environment)
    self.assertIn("graphviz", result.stderr)
    self.assertFalse((self.directory / "groups.svg").exists())
    self.assertIn("--fusion", self.expect(2, "inspect", PROGRAM, "--svg", "groups.svg").stderr)
    result = self.expect(2, "inspect", self.BLOCK / "mlp_block.hlo", "--fusion", "--json")
    self.assertIn("--json", result.stderr)


class RecordsTest(CliTestCase):

  def test_list_show_and_verify(self):
    self.tune("--budget", 12, "--out", "run", "--quiet")
    store = ["--store", "sqlite:run/records.db"]
    document = json.loads(self.expect(0, "records", "list", *store, "--json").stdout)
    self.assertEqual("autotune.records/1", document["schema"])
    self.assertEqual(12, document["measured"])
    self.assertEqual(10, document["kernels"])
    run = document["runs"][0]
    self.assertEqual("done", run["outcome"])
    self.assertIn(run["id"], self.expect(0, "records", "list", *store).stdout)
    shown = json.loads(self.expect(0, "records", "show", run["id"], *store, "--json").stdout)
    self.assertEqual(12, sum(c["fate"] == "measured" for c in shown["candidates"]))
    self.assertIn("fusion.191", self.expect(0, "records", "show", run["id"], *store).stdout)
    self.assertIn("well", self.expect(0, "records", "verify", *store).stdout)

  def test_a_store_that_is_not_there_is_not_made(self):
    result = self.expect(3, "records", "list", "--store", "sqlite:nowhere.db")
    self.assertIn("nowhere.db", result.stderr)
    self.assertFalse((self.directory / "nowhere.db").exists())

  def test_unknown_run(self):
    self.tune("--budget", 1, "--out", "run", "--quiet")
    self.assertIn("no-such-run", self.expect(3, "records", "show", "no-such-run", "--store",
                                             "sqlite:run/records.db").stderr)


  def test_export_then_import_gives_the_same(self):
    self.tune("--budget", 12, "--out", "run", "--quiet")
    store = ["--store", "sqlite:run/records.db"]
    self.expect(0, "records", "export", *store, "--out", "a.jsonl")
    self.expect(0, "records", "import", "a.jsonl", "--store", "sqlite:b.db")
    self.expect(0, "records", "import", "a.jsonl", "--store", "sqlite:b.db")
    self.expect(0, "records", "export", "--store", "sqlite:b.db", "--out", "b.jsonl")
    self.assertEqual((self.directory / "a.jsonl").read_text(),
                     (self.directory / "b.jsonl").read_text())
    csv = self.expect(0, "records", "export", *store, "--to", "csv", "--out", "-").stdout
    self.assertIn("fusion.191", csv)

  def test_csv_and_npz_give_the_same_back(self):
    self.tune("--budget", 40, "--out", "run", "--quiet", "--strategy", "annealing")
    store = ["--store", "sqlite:run/records.db"]
    self.expect(0, "records", "export", *store, "--to", "csv", "--out", "a.csv")
    for _ in range(2):  # the second time changes nothing
      self.expect(0, "records", "import", "a.csv", "--store", "sqlite:b.db")
      self.expect(0, "records", "export", "--store", "sqlite:b.db", "--to", "csv", "--out", "b.csv")
      self.assertEqual((self.directory / "a.csv").read_bytes(), (self.directory / "b.csv").read_bytes())
    self.expect(0, "records", "verify", "--store", "sqlite:b.db")
    candidates = json.loads(self.expect(0, "records", "list", *store, "--json").stdout)["candidates"]
    copied = json.loads(self.expect(0, "records", "list", "--store", "sqlite:b.db", "--json").stdout)
    self.assertEqual(candidates, copied["candidates"])

    device = ["--to", "npz", "--device", "tpu-v3"]
    self.expect(0, "records", "export", *store, *device, "--out", "a")
    files = sorted((self.directory / "a").iterdir())
    self.assertEqual(10, len(files))
    self.expect(0, "records", "import", *files, "--store", "sqlite:c.db")
    self.expect(0, "records", "export", "--store", "sqlite:c.db", *device, "--out", "c")
    for file in files:
      self.assertEqual(file.read_bytes(), (self.directory / "c" / file.name).read_bytes(), file.name)
    # Both stores give the same recording.
    for name, url in [("x", "run/records.db"), ("y", "c.db")]:
      self.expect(0, "records", "export", "--store", f"sqlite:{url}", "--to", "csv", "--out", name)
    rows = [sorted((r["fingerprint"], r["config"], r["samples"], r["failure"], r["is_default"])
                   for r in csv.DictReader((self.directory / name).read_text().splitlines())
                   if r["fate"] == "measured" and not r["failure"].endswith("not-recorded"))
            for name in ("x", "y")]
    self.assertEqual(rows[0], rows[1])

  def test_a_npz_of_something_else_is_refused(self):
    with zipfile.ZipFile(self.directory / "tpugraphs.npz", "w") as archive:
      header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }".ljust(117) + "\n"
      archive.writestr("node_feat.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") +
                       header.encode() + bytes(4))
    result = self.expect(3, "records", "import", "tpugraphs.npz", "--store", "sqlite:d.db")
    self.assertIn("nor a file of TpuGraphs' tile collection", result.stderr)

  def test_a_damaged_csv_is_named(self):
    self.tune("--budget", 12, "--out", "run", "--quiet")
    store = ["--store", "sqlite:run/records.db"]
    self.expect(0, "records", "export", *store, "--to", "csv", "--out", "a.csv")
    lines = (self.directory / "a.csv").read_text().splitlines(keepends=True)
    for what, line, error in [("fields", lines[3][:40] + "\n", "record 4: it has"),
                              ("number", lines[3].replace(",", ",x", 1), "record 4: column sequence"),
                              ("quote", '"' + lines[3][:20], "quoted field has no end")]:
      with self.subTest(what):
        self.path("bad.csv", "".join(lines[:3] + [line]))
        result = self.expect(3, "records", "import", "bad.csv", "--store", f"sqlite:{what}.db")
        self.assertIn(error, result.stderr)
    self.path("old.csv", "run,sequence,kernel,fingerprint,device\n")
    self.assertIn("not the columns", self.expect(3, "records", "import", "old.csv", "--store",
                                                 "sqlite:old.db").stderr)

  def test_a_recording_goes_in_and_out(self):
    self.expect(0, "records", "import", RECORDING, "--store", "sqlite:s.db")
    again = self.expect(0, "records", "import", RECORDING, "--store", "sqlite:s.db").stdout
    self.assertIn("0 candidates", again)
    self.expect(0, "records", "export", "--store", "sqlite:s.db", "--to", "recording", "--device",
                "tpu-v3", "--out", "s.rec")

    def best_known(recording, out):
      document = json.loads(self.expect(0, PROGRAM, "--recording", recording, "--budget", 0,
                                        "--json", "--quiet", "--out", out).stdout)
      return [(k["name"], k["space_size"], k["best_known"]) for k in document["kernels"]]

    # (A store does not keep which configuration is the default.)
    self.assertEqual(best_known(RECORDING, "x"), best_known("s.rec", "y"))

  def test_bad_transfers(self):
    self.tune("--budget", 1, "--out", "run", "--quiet")
    store = ["--store", "sqlite:run/records.db"]
    self.assertIn("--to", self.expect(2, "records", "export", *store, "--to", "xml", "--out",
                                      "x").stderr)
    self.assertIn("--device", self.expect(2, "records", "export", *store, "--to", "recording",
                                          "--out", "x").stderr)
    self.assertIn("tpu-v9", self.expect(3, "records", "export", *store, "--to", "recording",
                                        "--device", "tpu-v9", "--out", "x").stderr)
    self.path("bad.jsonl", "{\"record\": \"nonsense\"}\n")
    self.assertIn("bad.jsonl", self.expect(3, "records", "import", "bad.jsonl", *store).stderr)


class BackendsTest(CliTestCase):

  def test_lists_all_with_reasons(self):
    document = json.loads(self.expect(0, "backends", "--json").stdout)
    self.assertEqual(["replay", "aot", "pjrt", "fleet"],
                     [backend["name"] for backend in document["backends"]])
    self.assertTrue(all(backend["says"] for backend in document["backends"]))
    self.assertTrue(document["backends"][0]["available"])

  def test_an_unknown_generation_is_named(self):
    self.assertIn("--target", self.expect(2, "backends", "--target", "v9").stderr)

  def test_record_refuses_what_it_cannot_do(self):
    self.assertIn("--backend", self.expect(2, "record", PROGRAM, "--backend", "replay", "--out",
                                           "x.rec").stderr)


if __name__ == "__main__":
  unittest.main()
