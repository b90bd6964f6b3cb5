"""Commands of learned models from outside: train, evaluate, --model DIR, and what is loaded when.

Usage: learned_test.py AUTOTUNE_BINARY SOURCE_DIR TORCH_MODULE [unittest options]
"""

import fcntl
import json
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
MODULE = pathlib.Path(sys.argv.pop(1)).resolve()
DATA = SOURCE / "examples" / "recordings" / "aot_v3"
RECORDING = SOURCE / "examples" / "alexnet" / "tpu_v3.pb"
CONFIG = {
    "epochs": 3,
    "kernel_configs": 8,
    "network": {"hidden": 16, "members": 2, "layers": 1},
}


def run(*arguments, **environment):
  env = dict(os.environ, AUTOTUNE_TORCH_MODULE=str(MODULE))
  env.update(environment)
  return subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, env=env,
                        check=False)


def write_npz(path, arrays):
  """As numpy.savez: `arrays` are (name, type, shape, values), with types of the struct module."""
  path.parent.mkdir(parents=True, exist_ok=True)
  with zipfile.ZipFile(path, "w") as file:
    for name, kind, shape, values in arrays:
      header = str({"descr": {"i": "<i4", "f": "<f4"}[kind], "fortran_order": False, "shape": shape})
      header = header.ljust(117) + "\n"
      data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
      file.writestr(name + ".npy", data + struct.pack(f"<{len(values)}{kind}", *values))


def write_layouts(path, seed):
  """A program of TpuGraphs' layout collection: two of three nodes with eight layouts."""
  layouts = [(seed + 3 * i) % 7 - 1 for i in range(8 * 2 * 18)]
  times = [1000 + 100 * layouts[36 * c] + layouts[36 * c + 18] for c in range(8)]
  write_npz(path, [("node_feat", "f", (3, 140), [i % 5 for i in range(420)]),
                   ("node_opcode", "i", (3,), [63, 2, 3]),
                   ("edge_index", "i", (2, 2), [1, 0, 2, 1]),
                   ("node_config_ids", "i", (2,), [1, 2]),
                   ("node_config_feat", "f", (8, 2, 18), layouts),
                   ("config_runtime", "i", (8,), times),
                   ("node_splits", "i", (1, 2), [0, 3])])


class LearnedTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.directory = pathlib.Path(tempfile.mkdtemp(prefix="autotune_learned_"))
    (cls.directory / "config.json").write_text(json.dumps(CONFIG))
    cls.files = [DATA / f"{name}.v3.rec" for name in ("vgg16", "moe_top2", "int8_mixed_mlp")]
    cls.model = cls.directory / "model"
    cls.trained = cls.train(cls.model)

  @classmethod
  def tearDownClass(cls):
    shutil.rmtree(cls.directory, ignore_errors=True)

  @classmethod
  def train(cls, out, *arguments):
    return run("train", "--data", *cls.files, "--out", out, "--config",
               cls.directory / "config.json", "--test", "int8_mixed_mlp", *arguments)

  def test_training_writes_a_model_and_its_curves(self):
    self.assertEqual(self.trained.returncode, 0, self.trained.stderr)
    self.assertIn("test, learned", self.trained.stdout)
    self.assertIn("epoch   3 of 3", self.trained.stderr)
    report = json.loads((self.model / "training.json").read_text())
    self.assertEqual(len(report["epochs"]), 3)
    model = json.loads((self.model / "model.json").read_text())
    self.assertEqual(model["programs"]["test"], ["int8_mixed_mlp"])
    self.assertEqual(model["schema"]["name"], "autotune")
    self.assertFalse((self.model / "checkpoint.bin").exists())

  def test_jobs_and_interruptions_do_not_show(self):
    weights = (self.model / "weights.bin").read_bytes()
    out = self.directory / "interrupted"
    env = dict(os.environ, AUTOTUNE_TORCH_MODULE=str(MODULE))
    process = subprocess.Popen(
        [BINARY, "train", "--data", *self.files, "--out", out, "--config",
         self.directory / "config.json", "--test", "int8_mixed_mlp", "--jobs", "1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=env)
    for line in process.stderr:
      if line.startswith("epoch   1"):
        process.send_signal(signal.SIGINT)
        break
    process.stderr.read()
    process.stderr.close()
    self.assertEqual(process.wait(), 130)
    self.assertFalse((out / "model.json").exists())
    resumed = self.train(out, "--jobs", 1)
    self.assertEqual(resumed.returncode, 0, resumed.stderr)
    self.assertNotIn("epoch   1 of", resumed.stderr)
    self.assertEqual((out / "weights.bin").read_bytes(), weights)

  def test_evaluation_leaves_out_what_was_trained_on(self):
    result = run("evaluate", "--model", self.model, "--data", *self.files, "--json")
    self.assertEqual(result.returncode, 0, result.stderr)
    evaluation = json.loads(result.stdout)["evaluations"][0]
    self.assertEqual(list(evaluation["programs"]), ["int8_mixed_mlp tpu-v3"])
    for model in ("learned", "analytical"):
      self.assertGreater(evaluation[model]["kendall_tau"]["value"], 0.3)
      self.assertGreaterEqual(evaluation[model]["kendall_tau"]["high"],
                              evaluation[model]["kendall_tau"]["value"])
    everything = run("evaluate", "--model", self.model, "--data", *self.files, "--all", "--json")
    programs = json.loads(everything.stdout)["evaluations"][0]["programs"]
    self.assertEqual(len(programs), 3)
    trained_on = run("evaluate", "--model", self.model, "--data", self.files[0])
    self.assertEqual(trained_on.returncode, 3)
    self.assertIn("--all", trained_on.stderr)

  def test_a_report_of_training_is_a_config(self):
    out = self.directory / "again"
    first = self.train(self.directory / "seven", "--seed", 7)
    self.assertEqual(first.returncode, 0, first.stderr)
    again = run("train", "--data", *self.files, "--out", out, "--test", "int8_mixed_mlp", "--config",
                self.directory / "seven" / "training.json")
    self.assertEqual(again.returncode, 0, again.stderr)
    self.assertEqual((out / "weights.bin").read_bytes(),
                     (self.directory / "seven" / "weights.bin").read_bytes())
    other = run("train", "--data", *self.files, "--out", out, "--test", "int8_mixed_mlp", "--config",
                self.directory / "seven" / "training.json", "--seed", 1)
    self.assertEqual(other.returncode, 0, other.stderr)
    self.assertEqual((out / "weights.bin").read_bytes(), (self.model / "weights.bin").read_bytes())

  def test_without_validation_no_figures_are_shown(self):
    result = self.train(self.directory / "all_epochs", "--validation-share", 0)
    self.assertEqual(result.returncode, 0, result.stderr)
    self.assertIn("epoch   3 of 3", result.stderr)
    self.assertNotIn("validation: tau", result.stderr)

  def test_two_trainings_in_one_folder(self):
    out = self.directory / "shared"
    out.mkdir()
    with open(out / "run.lock", "w") as lock:
      fcntl.flock(lock, fcntl.LOCK_EX)
      result = self.train(out)
    self.assertEqual(result.returncode, 4)
    self.assertIn("another autotune works in", result.stderr)

  def test_a_device_that_the_model_does_not_know(self):
    v5e = SOURCE / "examples" / "recordings" / "aot_v5e" / "gcn.v5e.rec"
    result = run("evaluate", "--model", self.model, "--data", v5e, "--json")
    self.assertEqual(result.returncode, 0, result.stderr)
    warning = f"{self.model} was not trained on recordings of tpu-v5e"
    self.assertIn(f"warning: {warning}", result.stderr)
    self.assertEqual(json.loads(result.stdout)["warnings"], [warning])

  def test_exit_codes_tell_data_from_the_machine(self):
    one = ("--data", self.files[0], "--out", self.directory / "one_program")
    result = run("train", *one, "--test", "vgg16")
    self.assertEqual(result.returncode, 3, result.stderr)
    self.assertIn("nothing to train on", result.stderr)
    result = run("evaluate", "--random", "--data", self.files[0], "--seeds", 1)
    self.assertEqual(result.returncode, 3, result.stderr)
    full = subprocess.run(
        ["bash", "-c", 'ulimit -f 8; exec "$@"', "-", BINARY, "train", "--data",
         *self.files, "--out", self.directory / "full"], capture_output=True, text=True, check=False)
    self.assertEqual(full.returncode, 4, full.stderr)
    self.assertIn("scratch file", full.stderr)

  def test_exports_and_their_sides(self):
    config = self.directory / "tiny.json"
    config.write_text('{"epochs": 1, "network": {"hidden": 4, "members": 1}}')
    study = ("evaluate", "--random", "--data", *self.files, "--seeds", 1, "--config", config,
             "--export", self.directory / "export")
    self.assertEqual(run(*study).returncode, 0)
    again = run(*study)
    self.assertEqual(again.returncode, 2)
    self.assertIn("needs an empty folder", again.stderr)
    data = self.directory / "export" / "0"
    trained_on = sorted((data / "training").iterdir())[0].name.split(".")[0]
    common = ("--out", self.directory / "of_npz", "--config", config)
    result = run("train", "--data", data, *common, "--test", trained_on)
    self.assertEqual(result.returncode, 2)
    self.assertIn("says that it is trained on", result.stderr)
    result = run("train", "--data", data, *common, "--training-share", 0.5)
    self.assertEqual(result.returncode, 2)
    result = run("evaluate", "--random", "--data", data, "--config", config)
    self.assertEqual(result.returncode, 3)
    self.assertIn("not .npz files", result.stderr)

  def test_a_report_of_another_task_is_no_config(self):
    result = run("train", "--task", "fusion", "--data", SOURCE / "examples/recordings/fusion_v3",
                 "--out", self.directory / "x", "--config", self.model / "training.json")
    self.assertEqual(result.returncode, 3)
    self.assertIn("for another --task", result.stderr)

  def test_families_are_checked(self):
    families = self.directory / "families.json"
    unseen = ("evaluate", "--unseen", "--families", families, "--data", *self.files, "--seeds", 1)
    families.write_text('{"a": ["vgg16"], "b": ["vgg16"]}')
    result = run(*unseen)
    self.assertEqual(result.returncode, 3)
    self.assertIn("vgg16 stands twice", result.stderr)

  def test_a_folder_of_two_kinds_of_data_is_refused(self):
    mixed = self.directory / "mixed"
    write_layouts(mixed / "bert.npz", 1)
    shutil.copy(self.files[0], mixed)
    result = run("train", "--data", mixed, "--out", self.directory / "x")
    self.assertEqual(result.returncode, 3)
    self.assertIn("name those of one kind", result.stderr)

  def test_a_study_that_cannot_be_written_does_not_start(self):
    blocked = self.directory / "a_file"
    blocked.write_text("")
    result = run("evaluate", "--random", "--data", *self.files, "--out", blocked / "tables")
    self.assertEqual(result.returncode, 4)
    self.assertNotIn("best epoch", result.stderr)

  def test_a_model_that_was_trained_anew_is_told_when_resuming(self):
    model = self.directory / "retrained"
    shutil.copytree(self.model, model)
    out = self.directory / "resumed"
    begun = run("tune", RECORDING, "--budget", 12, "--model", model, "--out", out, "--quiet")
    self.assertEqual(begun.returncode, 0, begun.stderr)
    shutil.rmtree(model)
    self.assertEqual(self.train(model, "--seed", 2).returncode, 0)
    resumed = run("tune", "--out", out, "--resume", "--budget", 14, "--quiet", "--json")
    self.assertEqual(resumed.returncode, 0, resumed.stderr)
    self.assertIn("another than the one that this run began with", resumed.stderr)
    self.assertIn("another than the one", json.loads(resumed.stdout)["warnings"][0])

  def test_a_trained_model_guides_searches(self):
    compared = run("compare", RECORDING, "--methods", f"model-greedy+{self.model}", "--seeds", 1,
                   "--json")
    self.assertEqual(compared.returncode, 0, compared.stderr)
    tuned = run("tune", RECORDING, "--budget", 12, "--model", self.model, "--out",
                self.directory / "run", "--json", "--quiet")
    self.assertEqual(tuned.returncode, 0, tuned.stderr)

  def test_layouts_of_tpu_graphs(self):
    data, model = self.directory / "layouts", self.directory / "layout_model"
    for number in range(4):
      write_layouts(data / ("test" if number == 3 else "train") / f"bert{number}.npz", number)
    config = self.directory / "config.json"
    common = ("--data", data, "--config", config, "--out", model)
    trained = run("train", *common, "--task", "layout")
    self.assertEqual(trained.returncode, 0, trained.stderr)
    self.assertIn("training on 3 kernels with 24 configurations", trained.stderr)
    self.assertIn("test, learned", trained.stdout)
    self.assertNotIn("analytical", trained.stdout)
    judged = json.loads(run("evaluate", "--model", model, "--data", data, "--json").stdout)
    self.assertEqual(judged["evaluations"][0]["learned"]["configs"], 8)
    # A model of other features than the data have is refused, as is the wrong task.
    for arguments in (("evaluate", "--model", model, "--data", RECORDING),
                      ("train", *common),
                      ("train", "--data", RECORDING, "--out", model, "--task", "layout")):
      refused = run(*arguments)
      self.assertEqual(refused.returncode, 3, arguments)
      self.assertIn("layout", refused.stderr)

  def test_shipped_weights_order_hardware_kernels_no_worse_than_the_formula(self):
    result = run("compare", RECORDING, "--methods",
                 "model-greedy+analytical,model-greedy+learned", "--seeds", 1, "--json",
                 AUTOTUNE_WEIGHTS=SOURCE / "weights")
    self.assertEqual(result.returncode, 0, result.stderr)
    kernels = {kernel["name"]: {model["model"]: model["kendall_tau"] for model in kernel["models"]}
               for kernel in json.loads(result.stdout)["kernels"]
               if kernel["name"] in ("fusion.191", "fusion.232")}
    for kernel, at_least in (("fusion.191", 0.85), ("fusion.232", 0.74)):
      self.assertGreaterEqual(kernels[kernel]["learned"], at_least)
      self.assertGreaterEqual(kernels[kernel]["learned"], kernels[kernel]["analytical"])

  def tune(self, name, *arguments, **environment):
    environment.setdefault("AUTOTUNE_WEIGHTS", str(SOURCE / "weights"))
    result = run("tune", SOURCE / "examples" / "alexnet" / "program.hlo", "--recording", RECORDING,
                 "--out", self.directory / name, *arguments, **environment)
    self.assertEqual(result.returncode, 0, result.stderr)
    report = json.loads((self.directory / name / "report.json").read_text())
    return report["run"]["model"], result.stderr

  def test_the_learned_model_is_the_default(self):
    model, errors = self.tune("default", "--budget", 24, LD_DEBUG="files")
    self.assertEqual("learned", model)
    self.assertNotIn("note:", errors)
    self.assertIn("libtorch", errors)
    # A resumed run takes the model of the run.
    resumed = run("--out", self.directory / "default", "--resume", "--budget", 30,
                  AUTOTUNE_WEIGHTS=SOURCE / "weights")
    self.assertEqual(resumed.returncode, 0, resumed.stderr)
    self.assertIn("model learned", resumed.stdout)

  def test_the_default_is_analytical_where_there_is_no_learned_model(self):
    elsewhere = self.directory / "elsewhere"
    shutil.copytree(SOURCE / "weights" / "tile", elsewhere / "tile", dirs_exist_ok=True)
    description = json.loads((elsewhere / "tile" / "model.json").read_text())
    description["constants"] = {"tpu-v4": description["constants"]["tpu-v3"]}
    (elsewhere / "tile" / "model.json").write_text(json.dumps(description))
    broken = self.directory / "broken.so"
    broken.write_text("no library")
    for why, environment in (
        ("the trained weights know tpu-v4, not tpu-v3", {"AUTOTUNE_WEIGHTS": str(elsewhere)}),
        ("scripts/setup torch", {"AUTOTUNE_TORCH_MODULE": "/nowhere/libautotune_torch.so"}),
        ("cannot be loaded", {"AUTOTUNE_TORCH_MODULE": str(broken)})):
      with self.subTest(why):
        model, errors = self.tune("fallback", "--budget", 12, LD_DEBUG="files", **environment)
        self.assertEqual("analytical", model)
        self.assertNotIn("libtorch", errors.replace("scripts/setup torch", ""))
        notes = [line for line in errors.splitlines() if line.startswith("note:")]
        self.assertEqual(1, len(notes))
        self.assertIn(why, notes[0])

  def test_damaged_weights_are_a_warning_even_if_quiet(self):
    damaged = self.directory / "damaged_weights"
    shutil.copytree(SOURCE / "weights" / "tile", damaged / "tile")
    with open(damaged / "tile" / "weights.bin", "ab") as weights:
      weights.write(b"x")
    model, errors = self.tune("damaged_run", "--budget", 12, "--quiet", AUTOTUNE_WEIGHTS=str(damaged))
    self.assertEqual("analytical", model)
    self.assertRegex(errors, "warning: .*weights.bin is damaged")
    report = json.loads((self.directory / "damaged_run" / "report.json").read_text())
    self.assertIn("weights.bin is damaged", report["warnings"][0])

  def test_runs_of_nothing_but_records_load_no_libtorch(self):
    store = f"sqlite:{self.directory}/all.db"
    self.tune("all", "--budget", 700, "--model", "none", "--store", store)
    for arguments in (("--budget", 0), ("--budget", 20, "--store", store)):
      model, errors = self.tune("records", *arguments, LD_DEBUG="files")
      self.assertEqual("analytical", model)
      self.assertNotIn("libtorch", errors)
      self.assertNotIn("note:", errors)

  def test_only_learned_models_load_libtorch(self):
    program = SOURCE / "examples" / "alexnet" / "program.hlo"
    for arguments, loads in ((("check", program), False), (("--version",), False),
                             (("tune", "--help"), False), (("inspect", program), False),
                             (("evaluate", "--model", self.model, "--data", *self.files), True)):
      result = run(*arguments, LD_DEBUG="files")
      self.assertEqual("libtorch" in result.stderr, loads, arguments)

  def test_without_the_module_the_message_says_what_to_do(self):
    result = run("evaluate", "--model", self.model, "--data", *self.files,
                 AUTOTUNE_TORCH_MODULE="/nowhere/libautotune_torch.so")
    self.assertEqual(result.returncode, 4)
    self.assertIn("scripts/setup torch", result.stderr)

  def test_damaged_models_and_options_are_refused(self):
    damaged = self.directory / "damaged"
    shutil.copytree(self.model, damaged, dirs_exist_ok=True)
    with open(damaged / "weights.bin", "ab") as weights:
      weights.write(b"x")
    result = run("evaluate", "--model", damaged, "--data", *self.files)
    self.assertEqual(result.returncode, 3)
    self.assertIn("is damaged", result.stderr)
    (self.directory / "wrong.json").write_text('{"network": {"hiden": 3}}')
    result = run("train", "--data", *self.files, "--out", self.directory / "x", "--config",
                 self.directory / "wrong.json")
    self.assertEqual(result.returncode, 3)
    self.assertIn('there is no option "hiden"', result.stderr)
    result = run("train", "--data", self.directory / "nothing", "--out", self.directory / "x")
    self.assertEqual(result.returncode, 3)
    result = run("train", "--data", *self.files, "--out", self.directory / "x", "--task", "sort")
    self.assertEqual(result.returncode, 2)

  def test_hyper_parameters_out_of_range_name_file_and_option(self):
    config = self.directory / "range.json"
    for text, option in (('{"batch_kernels": 0}', "batch_kernels"), ('{"epochs": 0}', "epochs"),
                         ('{"network": {"members": 1000000}}', "members"),
                         ('{"network": {"hidden": 100000}}', "hidden"),
                         ('{"step": {"dropout": 2}}', "dropout"),
                         ('{"step": {"learning_rate": -1}}', "learning_rate"),
                         ('{"step": {"gap_limit": 1e400}}', "")):
      config.write_text(text)
      for command in (("train", "--out", self.directory / "range"), ("evaluate", "--random")):
        result = run(*command, "--data", *self.files, "--config", config)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("range.json", result.stderr)
        self.assertIn(option, result.stderr)

  def test_what_would_be_ignored_is_refused(self):
    data = ("--data", *self.files)
    for arguments, message in (
        (("train", *data, "--out", self.directory / "x", "--test", "nosuch"), 'no program "nosuch"'),
        (("evaluate", "--random", *data, "--html", self.directory / "x.html"), "--html"),
        (("evaluate", "--random", *data, "--model", self.model), "--model"),
        (("evaluate", "--model", self.model, *data, "--families", "x.json"), "--unseen"),
        (("evaluate", "--unseen", *data), "families.json"),
        (("evaluate", "--model", self.model, *data, "--out", "x"), "--out is for studies"),
        (("evaluate", "--model", self.model, *data, "--seeds", 2), "--seeds is for"),
        (("evaluate", "--task", "fusion", *data, "--by-kernel"), "--by-kernel")):
      result = run(*arguments)
      self.assertEqual(result.returncode, 2, arguments)
      self.assertIn(message, result.stderr)
    fusion = SOURCE / "examples" / "recordings" / "fusion_v3"
    result = run("train", "--task", "fusion", "--data", fusion, self.directory / "none", "--out",
                 self.directory / "x")
    self.assertEqual(result.returncode, 3)
    self.assertIn("none is not there", result.stderr)
    result = run("evaluate", "--task", "fusion", "--data", fusion, "--model", self.model, "--all")
    self.assertEqual(result.returncode, 3)
    self.assertIn("no model of the fusion task", result.stderr)

  def test_a_file_named_twice_counts_once(self):
    once = run("evaluate", "--model", self.model, "--data", *self.files, "--all", "--json")
    twice = run("evaluate", "--model", self.model, "--data", *self.files, self.files[0], "--all", "--json")
    self.assertEqual(once.stdout, twice.stdout)
    self.assertEqual(once.returncode, 0)

  def test_a_folder_of_tpu_graphs_recordings(self):
    file = run("evaluate", "--model", self.model, "--data", RECORDING, "--json")
    folder = run("evaluate", "--model", self.model, "--data", RECORDING.parent, "--json")
    self.assertEqual(folder.returncode, 0, folder.stderr)
    self.assertEqual(folder.stdout, file.stdout)

  def test_studies_that_are_done_are_kept(self):
    config = self.directory / "one.json"
    config.write_text('{"epochs": 1, "network": {"hidden": 4, "members": 1}}')
    out = self.directory / "studies"
    result = run("evaluate", "--random", "--transfer", "--data", *self.files, "--seeds", "1",
                 "--config", config, "--out", out)
    self.assertNotEqual(result.returncode, 0)
    self.assertIn("at least two devices", result.stderr)
    self.assertIn("**random**", result.stdout)
    self.assertEqual(len(json.loads((out.parent / "studies.json").read_text())["studies"]), 1)


if __name__ == "__main__":
  unittest.main()
