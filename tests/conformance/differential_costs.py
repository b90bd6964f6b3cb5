"""Compares autotune's cost analysis with XLA's, and runs the verifier over what XLA accepts.

Usage: differential_costs.py --binary HLO_COSTS [--generate] [--cases] [FILE...]

For every file, with --generate for the modules of generate_modules.py and with --cases for the cases
of hlo_cases.py that XLA analyses, FLOPs, transcendentals and bytes accessed must equal those of
`hlo_module_cost_analysis`, and (but for --cases) the verifier must find nothing wrong. Accepted differences, all of them:
  - XLA adds in single precision: totals may differ by 2e-5 of their size;
  - XLA counts -1 FLOP and -1 byte for a custom call, autotune counts it as unknown.

Exits with 77 (skipped) where jaxlib is not installed.
"""

import argparse
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

SKIPPED = 77
TOLERANCE = 2e-5


def close(ours, xla):
    return abs(ours - xla) <= TOLERANCE * max(abs(ours), abs(xla)) + 0.5


def compare(line, xla, verify):
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
    wrong = [f"{name}: ours {ours:.9g}, xla {theirs:.9g}"
             for name, (ours, theirs) in pairs.items() if not close(ours, theirs)]
    if verify and error and error[0].strip():
        wrong.append("verifier: " + error[0].strip())
    return wrong


def xla_costs(client, text):
    """XLA's properties, or none where it refuses. In a child: XLA may end its process."""
    from jaxlib import _hlo, _jax  # pylint: disable=import-outside-toplevel
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            module = _hlo.hlo_module_from_text(text)
            costs = dict(_jax.hlo_module_cost_analysis(client, module))
        except Exception:  # pylint: disable=broad-except
            costs = None
        with os.fdopen(write_end, "wb") as pipe:
            pickle.dump(costs, pipe)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        data = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else None


def write_cases(folder):
    """The accepted cases of hlo_cases.py as files."""
    import hlo_cases  # pylint: disable=import-outside-toplevel
    files = []
    for i, text in enumerate(hlo_cases.accepted()):
        files.append(pathlib.Path(folder) / f"case_{i}.hlo")
        files[-1].write_text(text, encoding="utf-8", newline="")
    return files


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--generate", action="store_true")
    parser.add_argument("--cases", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    try:
        import jax
        import jaxlib._hlo  # pylint: disable=unused-import
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
        cases = write_cases(folder) if arguments.cases else []
        files += cases
        lines = subprocess.run([arguments.binary, *map(str, files)], check=True,
                               capture_output=True, text=True).stdout.splitlines()
        assert len(lines) == len(files), f"{len(files)} files, {len(lines)} answers"
        client = jax.devices()[0].client
        failures = 0
        compared = 0
        for path, line in zip(files, lines):
            with open(path, encoding="utf-8", newline="") as stream:
                costs = xla_costs(client, stream.read())
            is_case = path in cases
            if costs is None and is_case:
                continue
            compared += 1
            wrong = ["XLA refuses it"] if costs is None else compare(line, costs, not is_case)
            for difference in wrong:
                print(f"{path.name}: {difference}")
            failures += bool(wrong)
    print(f"{compared} modules, {failures} with differences")
    sys.exit(1 if failures or not compared else 0)


if __name__ == "__main__":
    main()
