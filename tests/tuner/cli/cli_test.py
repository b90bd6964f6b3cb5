"""The `autotune` command from outside: output, files, exit codes, messages, interruption.

Usage: cli_test.py AUTOTUNE_BINARY SOURCE_DIR [unittest options]
"""

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

BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
EXAMPLE = SOURCE / "examples" / "alexnet"
PROGRAM = EXAMPLE / "program.hlo"
RECORDING = EXAMPLE / "tpu_v3.pb"

TEXT = """HloModule m

ENTRY e {
  a = f32[8,128]{1,0} parameter(0)
  ROOT b = f32[8,128]{1,0} negate(a)
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
        (["--resume"], "--out"),
    ]:
      with self.subTest(" ".join(arguments)):
        result = self.tune(*arguments, code=2)
        self.assertIn(named, result.stderr)

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

  def test_golden_text(self):
    """The whole output; AUTOTUNE_UPDATE_GOLDEN=1 writes it anew."""
    shutil.copytree(EXAMPLE, self.directory / "alexnet")
    result = self.expect(0, "alexnet/program.hlo", "--recording", "alexnet/tpu_v3.pb", "--budget",
                         40, "--out", "run", "--quiet")
    text = re.sub(r"measurements, \d+\.\d\d s", "measurements, T s", result.stdout)
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

  def test_quiet_and_piped_output_hold_no_escape_sequences(self):
    result = self.tune("--budget", 20)
    self.assertNotIn("\x1b", result.stdout + result.stderr)
    self.assertNotIn("\r", result.stdout + result.stderr)
    self.assertEqual("", self.tune("--budget", 20, "--quiet").stderr)


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
    self.bad(folder, "a.hlo", "b.hlo")

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
    self.assertRegex(result.stderr, r"(?i)full|no space|could not be")
    self.assertNotIn(".tmp", result.stdout)
    for name in ["best.json", "report.json"]:
      path = self.directory / "kept" / name
      if path.exists():
        json.loads(path.read_text())


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

  def test_resume_without_a_run(self):
    self.assertIn("holds no run", self.expect(3, "--out", "nowhere", "--resume").stderr)


class CheckTest(CliTestCase):

  def test_good_and_bad(self):
    good = self.path("good.hlo", TEXT)
    bad = self.path("bad.hlo", TEXT.replace("negate(a)", "negate(zzz)"))
    result = self.expect(3, "check", good, bad, RECORDING)
    lines = result.stdout.splitlines()
    self.assertEqual(3, len(lines))
    self.assertRegex(lines[0], r"^ok +.*good\.hlo: hlo, 2 instructions, 1 computations$")
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

  def test_record_refuses_what_it_cannot_do(self):
    self.assertIn("--backend", self.expect(2, "record", PROGRAM, "--backend", "replay", "--out",
                                           "x.rec").stderr)


if __name__ == "__main__":
  unittest.main()
