"""A JAX function, tuned and put back to work: exports it, tunes it, writes the tuned program, runs both
and compares the results.

  python run.py AUTOTUNE [--backend aot|pjrt] [--plugin FILE] [--budget N]

AUTOTUNE is the autotune command. With `pjrt` and a CPU plugin (the default if one is found) cuts between
operations are tried, on this machine's CPU; with `aot` tiles, for a TPU that need not be here.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jaxlib import _jax


def mlp(x, w1, b1, w2):
  """A layer of a transformer's feed-forward block."""
  hidden = jax.nn.gelu(x @ w1 + b1)
  scale = jnp.asarray(np.linspace(0.5, 1.5, x.shape[1], dtype=np.float32))  # a constant to export
  return jax.nn.softmax(hidden @ w2) * scale


def arguments():
  keys = jax.random.split(jax.random.key(0), 4)
  shapes = [(128, 256), (256, 512), (512,), (512, 256)]
  return [jax.random.normal(key, shape) / 16 for key, shape in zip(keys, shapes)]


def export(function, args, path):
  """Writes the program before optimisation as a protobuf, which holds constants in full."""
  lowered = jax.jit(function).lower(*args)
  path.write_bytes(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())


def run_program(path, args):
  """Compiles and runs a serialised HloModuleProto on JAX's own device."""
  module = _jax.mlir.hlo_to_stablehlo(path.read_bytes())
  client = jax.devices()[0].client
  options = _jax.CompileOptions()
  devices = _jax.DeviceList((jax.devices()[0],))
  executable = client.compile_and_load(module, devices, options)
  buffers = [jax.device_put(arg, jax.devices()[0]) for arg in args]
  return [np.asarray(result[0])
          for result in executable.execute_sharded(buffers).disassemble_into_single_device_arrays()]


def autotune(command, *options):
  result = subprocess.run([command, *options], stdout=subprocess.PIPE, text=True)
  if result.returncode != 0:
    sys.exit(f"autotune {' '.join(options)} ended with {result.returncode}\n{result.stdout}")
  return result.stdout


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
  parser.add_argument("autotune")
  parser.add_argument("--backend", default="pjrt", choices=["aot", "pjrt"])
  parser.add_argument("--plugin", help="PJRT plugin of --backend pjrt")
  parser.add_argument("--target", default="v5e", help="generation for --backend aot")
  parser.add_argument("--budget", default="12")
  options = parser.parse_args()

  args = arguments()
  expected = np.asarray(jax.jit(mlp)(*args))
  with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    source, tuned, run = folder / "mlp.pb", folder / "mlp.tuned.pb", folder / "run"
    export(mlp, args, source)
    np.testing.assert_allclose(run_program(source, args)[0], expected, rtol=1e-5, atol=1e-6)

    how = ["--backend", options.backend]
    how += ["--plugin", options.plugin] if options.plugin else []
    how += ["--target", options.target] if options.backend == "aot" else []
    autotune(options.autotune, str(source), *how, "--budget", options.budget, "--repeats", "3",
             "--out", str(run), "--quiet")
    best = json.loads((run / "best.json").read_text())
    for kernel in best["kernels"]:
      print(f"{kernel['name']}: {kernel.get('config')}, {kernel.get('seconds', 0) * 1e6:.1f} us "
            f"(default {kernel.get('default_seconds', 0) * 1e6:.1f} us, {best['time_source']})")

    applied = json.loads(autotune(options.autotune, "apply", str(source), "--config",
                                  str(run / "best.json"), "--out", str(tuned), "--to", "pb", "--json"))
    print(f"applied: {[kernel['outcome'] for kernel in applied['kernels']]}, {applied['cuts']} cuts")
    result = run_program(tuned, args)[0]
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    print("the tuned program gives the same results")


if __name__ == "__main__":
  main()
