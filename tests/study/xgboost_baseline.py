"""Gradient-boosted trees on the features of the learned model, for docs/learned-model.md.

Usage: xgboost_baseline.py EXPORT [--json FILE]

EXPORT is the folder that `autotune evaluate --random --export EXPORT` wrote: for every split the
examples of its sides as .npz. The trees see the features of the kernel and of the configuration, and
means and maxima of those of the operations; they learn, as the network does, what is to be added to
the analytical model's log time, each kernel's mean taken away (only the order within a kernel counts).
They are an honest rival, not a part of autotune: needs the packages in requirements.txt.
"""

import argparse
import json
import pathlib
import time

import numpy as np
import xgboost

PARAMETERS = {
    "objective": "reg:pseudohubererror",
    "huber_slope": 0.1,
    "max_depth": 5,
    "eta": 0.05,
    "subsample": 0.7,
    "colsample_bytree": 0.5,
    "min_child_weight": 3,
    "nthread": 1,
    "seed": 1,
}
ROUNDS = 300


def load(*folders):
  """Features [configs, any], log times, the analytical model's, and the kernel of each row."""
  rows, times, bases, kernels = [], [], [], []
  paths = [path for folder in folders for path in sorted(folder.glob("*.npz"))]
  for number, path in enumerate(paths):
    with np.load(path) as data:
      configs = data["config_feat"]
      nodes = data["node_feat"]
      static = np.concatenate([data["kernel_feat"], nodes.mean(0), nodes.max(0)])
      rows.append(np.hstack([np.tile(static, (len(configs), 1)), configs]))
      seconds = data["config_runtime"] / data["config_runtime_normalizers"] * 1e-9
      times.append(np.log(seconds))
      bases.append(data["config_base"].astype(float))
      kernels.append(np.full(len(configs), number))
  return np.vstack(rows), np.concatenate(times), np.concatenate(bases), np.concatenate(kernels)


def centred(values, kernels):
  sums = np.bincount(kernels, values)
  return values - (sums / np.bincount(kernels))[kernels]


def kendall_tau(scores, times):
  order = np.sign(scores[:, None] - scores[None, :])
  truth = np.sign(times[:, None] - times[None, :])
  pairs = np.count_nonzero(truth)
  return (order * truth).sum() / pairs if pairs else None


def judge(scores, times, kernels):
  """As rank_metrics.h defines them: mean tau, Tile-Size APE and mean top-1 error in per cent."""
  taus, top1, chosen, best = [], [], 0, 0
  for kernel in np.unique(kernels):
    own = kernels == kernel
    score, seconds = scores[own], np.exp(times[own])
    tau = kendall_tau(score, seconds)
    if tau is not None:
      taus.append(tau)
    choice = seconds[np.lexsort((-seconds, score))[0]]
    top1.append(choice / seconds.min() - 1)
    chosen += choice
    best += seconds.min()
  return {"tau": float(np.mean(taus)), "ape": float(100 * (chosen / best - 1)),
          "top1": float(100 * np.mean(top1)), "kernels": len(top1)}


def run(split):
  features, times, base, kernels = load(split / "training", split / "validation")
  weights = 1 / np.sqrt(np.bincount(kernels))[kernels]
  data = xgboost.DMatrix(features, centred(times - base, kernels), weight=weights)
  start = time.process_time()
  trees = xgboost.train(PARAMETERS, data, ROUNDS)
  training = time.process_time() - start
  features, times, base, kernels = load(split / "test")
  residual = trees.predict(xgboost.DMatrix(features))
  start = time.process_time()
  count = 0
  while time.process_time() - start < 1:
    trees.inplace_predict(features[:1024])
    count += len(features[:1024])
  speed = count / (time.process_time() - start)
  return {"trees": judge(base + residual, times, kernels), "analytical": judge(base, times, kernels),
          "training_seconds": training, "predictions_per_second": speed}


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("export", type=pathlib.Path)
  parser.add_argument("--json", type=pathlib.Path)
  arguments = parser.parse_args()
  results = [run(split) for split in sorted(arguments.export.iterdir())]
  for model in ("trees", "analytical"):
    line = [f"{name} {np.median([r[model][name] for r in results]):.3f}"
            for name in ("tau", "ape", "top1")]
    print(f"{model}: medians over {len(results)} splits:", ", ".join(line))
  print(f"{np.median([r['predictions_per_second'] for r in results]):.0f} predictions a second, "
        "one thread, batches of 1,024, features given")
  if arguments.json:
    arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
  main()
