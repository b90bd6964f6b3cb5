"""What a budget of measurements gains of whole programs' time, by method, replayed.

  python3 tests/study/program_tiles.py build/release/bin/autotune RECORDING... --models random,analytical,DIR

Every recording is tuned as a program. The gain is the sum over its kernels of count x (default - best found),
as a share of what all of its kernels take with the compiler's tiles; a kernel that the run did not get to gains
nothing. Medians of --seeds. A learned model has to be trained on other programs.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

EVERYTHING = 10**6  # more than any recording holds


def tune(binary, recording, budget, seed, model):
  """The kernels of a run's report."""
  with tempfile.TemporaryDirectory() as folder:
    command = [binary, recording, "--budget", str(budget), "--seed", str(seed), "--out", f"{folder}/run",
               "--quiet", "--jobs", "1"]
    command += ["--strategy", "random", "--model", "none"] if model == "random" else ["--model", model]
    subprocess.run(command, check=True, capture_output=True)
    return json.loads(pathlib.Path(folder, "run", "report.json").read_text())["kernels"]


def saved(kernel):
  """Seconds of the program that the kernel's best configuration saves, and that it takes by default."""
  default, best = (kernel.get(name) or {} for name in ("default", "best"))
  if "seconds" not in default or "seconds" not in best:
    return 0, 0
  return kernel["count"] * (default["seconds"] - best["seconds"]), kernel["count"] * default["seconds"]


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
  parser.add_argument("autotune")
  parser.add_argument("recordings", nargs="+")
  parser.add_argument("--models", default="random,analytical")
  parser.add_argument("--budgets", default="20,50,100")
  parser.add_argument("--seeds", type=int, default=5)
  options = parser.parse_args()
  models = options.models.split(",")
  budgets = [int(budget) for budget in options.budgets.split(",")]
  columns = [(model, budget) for model in models for budget in budgets]
  shares = {column: [] for column in columns}
  print("| program | all |", " | ".join(f"{model}, {budget}" for model, budget in columns), "|")
  print("|---|" + "---|" * (len(columns) + 1))
  for recording in options.recordings:
    everything = [saved(kernel) for kernel in
                  tune(options.autotune, recording, EVERYTHING, 1, "analytical")]
    program = sum(seconds for _, seconds in everything)
    most = sum(seconds for seconds, _ in everything)
    row = [pathlib.Path(recording).name.split(".")[0], f"{100 * most / program:.2f}"]
    for model, budget in columns:
      gains = []
      for seed in range(1, options.seeds + 1):
        kernels = tune(options.autotune, recording, budget, seed, model)
        gains.append(sum(saved(kernel)[0] for kernel in kernels))
      gain = statistics.median(gains)
      shares[model, budget].append(gain / most if most > 0 else 1)
      row.append(f"{100 * gain / program:.2f}")
    print("|", " | ".join(row), "|", flush=True)
  print("| mean share | |", " | ".join(f"{100 * statistics.mean(shares[c]):.0f} %" for c in columns), "|")


if __name__ == "__main__":
  main()
