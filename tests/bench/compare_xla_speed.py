"""Sets autotune's HLO front end beside XLA's own, on the same program and the same machine.

Usage: compare_xla_speed.py --binary HLO_BENCH [FILE.hlo]

Without a file the program that hlo_bench generates is taken. Times are CPU seconds of one thread, the
smallest of several single runs on either side, so that other work on the machine disturbs little. XLA is called through
jaxlib. Exits with 1 if a bar of the project is missed, with 77 where jaxlib is not installed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

RUNS = 15
# What, autotune's benchmark, how many times as fast as XLA it must be.
BARS = [("text to module", "BM_ParseText", 4), ("protobuf to module", "BM_ReadProto", 2),
        ("module to text", "BM_PrintText", 2), ("cost analysis", "BM_CostAnalysis", 10)]
MEMORY_BAR = 8


def best_seconds(function):
    times = []
    for _ in range(RUNS):
        start = time.thread_time()
        function()
        times.append(time.thread_time() - start)
    return min(times)


def xla_seconds(text):
    """Seconds of XLA for each of BARS."""
    import jax  # pylint: disable=import-outside-toplevel
    from jaxlib import _hlo, _jax  # pylint: disable=import-outside-toplevel
    module = _hlo.hlo_module_from_text(text)
    data = module.as_serialized_hlo_module_proto()
    client = jax.devices("cpu")[0].client
    return [best_seconds(lambda: _hlo.hlo_module_from_text(text)),
            best_seconds(lambda: _hlo.HloModule.from_serialized_hlo_module_proto(data)),
            best_seconds(module.to_string),
            best_seconds(lambda: _jax.hlo_module_cost_analysis(client, module))]


def run_bench(binary, file):
    """The results of hlo_bench by name: CPU seconds, the smallest of several repetitions."""
    output = subprocess.run(
        [binary, f"--benchmark_repetitions={RUNS}", "--benchmark_min_time=0.0001",
         "--benchmark_format=json"], env=dict(os.environ, AUTOTUNE_BENCH_HLO=file), check=True,
        capture_output=True, text=True).stdout
    results = {}
    for run in json.loads(output)["benchmarks"]:
        if run["run_type"] != "iteration":
            continue
        name = run["run_name"].split("/")[0]
        known = results.setdefault(name, {"seconds": float("inf"), "memory": 0})
        known["seconds"] = min(known["seconds"], run["cpu_time"] / 1e3)
        known["memory"] = max(known["memory"], run.get("peak_bytes_per_text_byte", 0))
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("file", nargs="?")
    arguments = parser.parse_args()
    try:
        import jaxlib._hlo  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        print("jaxlib is not installed: skipped")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        file = arguments.file
        if file is None:
            file = os.path.join(folder, "generated.hlo")
            subprocess.run([arguments.binary, "--benchmark_filter=BM_ParseTextPeakMemory"],
                           env=dict(os.environ, AUTOTUNE_BENCH_WRITE=file), check=True,
                           capture_output=True)
        with open(file, encoding="utf-8") as stream:
            text = stream.read()
        ours = run_bench(arguments.binary, file)
    missed = False
    print(f"{os.path.basename(file)}, {len(text) / 1e6:.1f} MB of text")
    print("| | XLA | autotune | times as fast | bar |\n|---|---|---|---|---|")
    for (what, name, bar), xla in zip(BARS, xla_seconds(text)):
        ratio = xla / ours[name]["seconds"]
        missed |= ratio < bar
        print(f"| {what} | {xla * 1e3:.1f} ms | {ours[name]['seconds'] * 1e3:.1f} ms | "
              f"{ratio:.1f} | {bar} |")
    memory = ours["BM_ParseTextPeakMemory"]["memory"]
    missed |= memory >= MEMORY_BAR
    print(f"peak memory of reading: {memory:.1f} times the text (bar: under {MEMORY_BAR})")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
