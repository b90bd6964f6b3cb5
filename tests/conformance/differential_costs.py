"""Compares autotune's cost analysis with XLA's, and runs the verifier over what XLA accepts.

Usage: differential_costs.py --binary HLO_COSTS [--generate] [FILE...]

For every file, and with --generate for the modules of generate_modules.py, FLOPs, transcendentals
and bytes accessed must equal those of `hlo_module_cost_analysis`, and the verifier must find nothing
wrong. Accepted differences, all of them:
  - XLA adds in single precision: totals may differ by 2e-5 of their size;
  - XLA counts -1 FLOP and -1 byte for a custom call, autotune counts it as unknown;
  - bytes of programs with a scatter fused into a custom fusion within another fusion
    (`SCATTER_IN_NESTED_FUSION`): XLA leaves out the operand that is updated in place.

Exits with 77 (skipped) where jaxlib is not installed.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
TOLERANCE = 2e-5
SCATTER_IN_NESTED_FUSION = {"lm1b_train.v3.hlo", "lm1b_train.v5e.hlo"}


def close(ours, xla):
    return abs(ours - xla) <= TOLERANCE * max(abs(ours), abs(xla)) + 0.5


def compare(path, line, xla):
    """The differences between our line of output and XLA's properties, as words."""
    if line.startswith("error"):
        return [line]
    flops, transcendentals, read, unknown, *error = line.split(" ", 4)
    unknown = float(unknown)
    pairs = {
        "flops": (float(flops) - unknown, xla.get("flops", 0.0)),
        "transcendentals": (float(transcendentals), xla.get("transcendentals", 0.0)),
        "bytes accessed": (float(read) - unknown, xla.get("bytes accessed", 0.0)),
    }
    if path.name in SCATTER_IN_NESTED_FUSION:
        del pairs["bytes accessed"]
    wrong = [f"{name}: ours {ours:.9g}, xla {theirs:.9g}"
             for name, (ours, theirs) in pairs.items() if not close(ours, theirs)]
    if error and error[0].strip():
        wrong.append("verifier: " + error[0].strip())
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--generate", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    try:
        import jax
        from jaxlib import _hlo, _jax
    except ImportError:
        print("jaxlib is not installed: skipped")
        sys.exit(SKIPPED)

    with tempfile.TemporaryDirectory() as folder:
        files = list(arguments.files)
        if arguments.generate:
            generator = pathlib.Path(__file__).with_name("generate_modules.py")
            subprocess.run([sys.executable, generator, folder], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            files += sorted(pathlib.Path(folder).glob("*.hlo"))
        lines = subprocess.run([arguments.binary, *map(str, files)], check=True,
                               capture_output=True, text=True).stdout.splitlines()
        assert len(lines) == len(files), f"{len(files)} files, {len(lines)} answers"
        client = jax.devices()[0].client
        failures = 0
        for path, line in zip(files, lines):
            module = _hlo.hlo_module_from_text(path.read_text())
            wrong = compare(path, line, _jax.hlo_module_cost_analysis(client, module))
            for difference in wrong:
                print(f"{path.name}: {difference}")
            failures += bool(wrong)
    print(f"{len(files)} modules, {failures} with differences")
    sys.exit(1 if failures or not files else 0)


if __name__ == "__main__":
    main()
