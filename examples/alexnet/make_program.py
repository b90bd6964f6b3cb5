#!/usr/bin/env python3
"""Assembles program.hlo from the ten kernels recorded in tpu_v3.pb.

    make_program.py           writes program.hlo beside this script
    make_program.py --check   compares it with what would be written; exit 1 if they differ

The recording holds kernels, not the program that they came from. This script puts them back into
one entry computation, in the order in which a training step of AlexNet runs them, and connects
them where one kernel's result has the shape of another's operand and the recorded names say that
it was so. Values that kernels outside the recording would compute are parameters. The two dropout
layers and the two fully connected layers of AlexNet have the same shapes, so their kernels are
used twice. The compiler's recorded tile stands in the `window_config` of each use.

Needs: jaxlib (tests/conformance/requirements.txt), Python's protobuf, and protoc.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

from jaxlib import _hlo

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# What the other kernels of the training step hand over: name -> shape with layout.
PARAMETERS = {
    "images": "f32[4816896]{0:T(1024)}",
    "conv_1_pooled": "bf16[32,12,12,192]{3,0,2,1:T(8,128)(2,1)}",
    "conv_2_weights": "f32[3,3,192,384]{3,2,1,0:T(8,128)}",
    "conv_2_biases": "f32[384]{0:T(512)}",
    "conv_4_pooled": "bf16[32,5,5,256]{3,0,2,1:T(8,128)(2,1)}",
    "logits": "f32[32,1000]{1,0:T(8,128)}",
    "logits_max": "f32[32]{0:T(256)}",
    "log_sum_exp": "f32[32]{0:T(256)}",
    "labels": "s32[32]{0:T(256)}",
    "features_gradient": "f32[32,6400]{1,0:T(8,128)}",
    "conv_1_gradient": "f32[32,26,26,192]{3,0,2,1:T(8,128)}",
    "conv_1_relu_mask": "u32[32,26,192]{2,0,1:T(8,128)}",
    "fully_connected_biases": "f32[4096]{0:T(1024)}",
    "fully_connected_biases_gradient": "f32[4096]{0:T(1024)}",
    "fully_connected_1_biases": "f32[4096]{0:T(1024)}",
    "fully_connected_1_biases_gradient": "f32[4096]{0:T(1024)}",
    "learning_rate": "f32[]{:T(256)S(6)}",
}

# The schedule: (name in the program, recorded kernel, operands).
SCHEDULE = [
    # Forward.
    ("reshape.37", "reshape.37", ["images"]),
    ("fusion.191", "fusion.191", ["conv_2_biases", "conv_1_pooled", "conv_2_weights"]),
    ("copy.24", "copy.24", ["conv_4_pooled"]),
    ("reshape.38", "reshape.38", ["copy.24"]),
    ("fusion.181", "fusion.181", []),  # Dropout_1
    ("fusion.181.1", "fusion.181", []),  # Dropout, of the same shape
    ("fusion.206", "fusion.206", ["logits", "logits_max"]),
    # The loss, and backward.
    ("fusion.207", "fusion.207", ["labels", "fusion.206", "logits", "logits_max", "log_sum_exp"]),
    ("reshape.39", "reshape.39", ["features_gradient"]),
    ("fusion.232", "fusion.232", ["conv_1_gradient", "conv_1_relu_mask"]),
    # The update of the weights.
    ("fusion.250", "fusion.250",
     ["fully_connected_biases", "fully_connected_biases_gradient", "learning_rate"]),
    ("fusion.250.1", "fusion.250",
     ["fully_connected_1_biases", "fully_connected_1_biases_gradient", "learning_rate"]),
]


def read_recording():
  """The messages ModuleTuningData of tpu_v3.pb, by the module's name."""
  with tempfile.TemporaryDirectory() as generated:
    protos = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "proto").glob("*.proto"))
    subprocess.run(["protoc", f"--python_out={generated}", *protos], cwd=ROOT, check=True)
    sys.path.insert(0, generated)
    from proto import tuning_data_pb2  # pylint: disable=import-outside-toplevel
    recording = tuning_data_pb2.TuningData()
    recording.ParseFromString((HERE / "tpu_v3.pb").read_bytes())
    return {entry.module.name: entry for entry in recording.modules}


class Kernel:
  """One recorded kernel: its text and the tile that the compiler chose."""

  def __init__(self, entry):
    module = _hlo.HloModule.from_serialized_hlo_module_proto(entry.module.SerializeToString())
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    text = module.to_string(options)
    blocks = re.split(r"\n\n+", text.strip())
    self.computations = [block for block in blocks[1:] if not block.startswith("ENTRY ")]
    entry_block = next(block for block in blocks if block.startswith("ENTRY "))
    # "  ROOT %NAME = SHAPE OPCODE(OPERANDS), ATTRIBUTES"
    root = next(line for line in entry_block.splitlines() if line.startswith("  ROOT "))
    match = re.fullmatch(r"  ROOT %\S+ = (.*?) ([a-z-]+)\(([^)]*)\)(.*)", root)
    self.shape, self.opcode, _, self.attributes = match.groups()
    self.tile = next(run.op_config.tile_size_config for run in entry.runs if run.is_default)


def copy_of_computations(kernel, suffix):
  """The kernel's computations and attributes with `suffix` after every name that it defines."""
  if not suffix:
    return kernel.computations, kernel.attributes
  rename = lambda text: re.sub(r"%[A-Za-z0-9_.-]+", lambda name: name.group() + suffix, text)
  # A header lists the parameters without '%'.
  headers = lambda text: re.sub(r"([A-Za-z0-9_.-]+): ", rf"\1{suffix}: ", text)
  computations = []
  for block in kernel.computations:
    first, rest = block.split("\n", 1)
    computations.append(rename(headers(first) + "\n" + rest))
  return computations, rename(kernel.attributes)


def backend_config(tile):
  """The compiler's choice as it stands in a program that the TPU compiler wrote; "" if unknown."""
  bounds = {
      "kernel_window_bounds": tile.kernel_bounds,
      "output_window_bounds": tile.output_bounds,
      "input_window_bounds": tile.input_bounds,
      "iteration_bounds": tile.iteration_bounds,
  }
  if not any(bounds.values()):
    return ""
  window = {name: [str(bound) for bound in values] for name, values in bounds.items()}
  return ", backend_config=" + json.dumps({"window_config": window}, separators=(",", ":"))


def assemble(recording):
  """The text of the program."""
  computations, lines, shapes = [], [], dict(PARAMETERS)
  for number, (name, shape) in enumerate(PARAMETERS.items()):
    lines.append(f"  %{name} = {shape} parameter({number})")
  used = set()
  for name, recorded, operands in SCHEDULE:
    kernel = Kernel(recording[recorded])
    blocks, attributes = copy_of_computations(kernel, ".1" if recorded in used else "")
    used.add(recorded)
    computations.extend(blocks)
    shapes[name] = kernel.shape
    arguments = ", ".join("%" + operand for operand in operands)
    lines.append(f"  %{name} = {kernel.shape} {kernel.opcode}({arguments}){attributes}"
                 f"{backend_config(kernel.tile)}")
  assert used == set(recording), "a recorded kernel is not used"

  consumed = {operand for _, _, operands in SCHEDULE for operand in operands}
  results = [name for name, _, _ in SCHEDULE if name not in consumed]
  result_shape = "(" + ", ".join(shapes[name] for name in results) + ")"
  lines.append(f"  ROOT %step = {result_shape} tuple({', '.join('%' + name for name in results)})")

  without_layout = lambda shape: re.sub(r"\{[^}]*\}", "", shape)
  parameters = ", ".join(f"{name}: {without_layout(shape)}" for name, shape in PARAMETERS.items())
  layouts = ", ".join(PARAMETERS.values())
  header = (f"HloModule alexnet_train_step, is_scheduled=true, "
            f"entry_computation_layout={{({layouts})->{result_shape}}}")
  entry = (f"ENTRY %alexnet_train_step ({parameters}) -> {without_layout(result_shape)} {{\n" +
           "\n".join(lines) + "\n}")
  text = "\n\n".join([header, *computations, entry]) + "\n"
  # XLA prints the float -0.0 as "-0" and reads that back as the integer 0.
  return text.replace("constant(-0)", "constant(-0.0)")


def verify(text, recording):
  """XLA reads the program and prints each kernel's computations just as they were recorded."""
  printed = _hlo.hlo_module_from_text(text).to_string().replace("constant(-0)", "constant(0)")
  for entry in recording.values():
    for block in Kernel(entry).computations:
      if block.replace("constant(-0)", "constant(0)") not in printed:
        raise SystemExit(f"XLA reads a computation of {entry.module.name} differently:\n{block}")


def main():
  recording = read_recording()
  text = assemble(recording)
  verify(text, recording)
  path = HERE / "program.hlo"
  if "--check" in sys.argv[1:]:
    if path.read_text(encoding="utf-8") != text:
      raise SystemExit(f"{path} is not what this script writes")
  else:
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
  main()
