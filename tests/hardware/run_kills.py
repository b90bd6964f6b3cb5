"""Runs of the tuner killed (SIGKILL) at random moments and resumed, until each has ended.

Every one must end with the same best configurations and the same number of measurements as a run
that nobody disturbed; nothing that a killed run had recorded may be lost, change, or be there twice.

  run_kills.py AUTOTUNE RECORDING [--runs N] [--seed S] [--postgres]

--postgres uses the server of scripts/with_postgres, a database for each run.
"""

import argparse
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time

BUDGET = 150


class Harness:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder

    def store(self, name):
        if not self.options.postgres:
            return f"sqlite:{self.folder}/{name}.db"
        database = f"kills_{name}"
        create = shlex.split(os.environ["AUTOTUNE_TEST_POSTGRES_CREATEDB"])
        subprocess.run(create + [database], check=True)
        return os.environ["AUTOTUNE_TEST_POSTGRES"].replace("/autotune?", f"/{database}?")

    def tune(self, name, store, resume):
        command = [self.options.autotune]
        if not resume:
            command += [self.options.recording, "--model", "analytical", "--budget", str(BUDGET),
                        "--seed", "11", "--store", store]
        command += ["--quiet", "--out", f"{self.folder}/{name}"]
        if resume:
            command.append("--resume")
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def finish(self, process):
        errors = process.communicate()[1]
        if process.returncode != 0:
            sys.exit(f"autotune ended with {process.returncode}: {errors}")

    def best(self, name):
        with open(f"{self.folder}/{name}/best.json", encoding="utf-8") as file:
            best = json.load(file)
        return [(k["fingerprint"], k.get("config")) for k in best["kernels"]]

    def measured(self, store):
        """The recorded measurements by sequence, as the lines that `records export` writes."""
        command = [self.options.autotune, "records", "export", "--store", store, "--out", "-"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            return {}  # killed before there was a store
        records = [json.loads(line) for line in result.stdout.splitlines()]
        measured = [r for r in records if r["record"] == "candidate" and r["fate"] == "measured"]
        by_sequence = {r["sequence"]: r for r in measured}
        assert len(by_sequence) == len(measured), "two records with one number"
        return by_sequence


def check_history(before, after):
    for sequence, record in before.items():
        assert after.get(sequence) == record, f"measurement {sequence} was lost or has changed"


def one_run(harness, name, chance, seconds):
    """Kills the run up to three times, then lets it end. Returns how often it was killed."""
    store = harness.store(name)
    kills = 0
    known = {}
    for _ in range(chance.randint(1, 3)):
        resume = os.path.exists(f"{harness.folder}/{name}/run.json")
        process = harness.tune(name, store, resume)
        time.sleep(chance.uniform(0, seconds))
        if process.poll() is None:
            process.kill()
            kills += 1
        process.communicate()
        measured = harness.measured(store)
        check_history(known, measured)
        known = measured
    resume = os.path.exists(f"{harness.folder}/{name}/run.json")
    harness.finish(harness.tune(name, store, resume))
    measured = harness.measured(store)
    check_history(known, measured)
    assert len(measured) == BUDGET, f"{len(measured)} measurements instead of {BUDGET}"
    distinct = {(r["kernel"], json.dumps(r["config"])) for r in measured.values()}
    assert len(distinct) == BUDGET, "a configuration was measured twice"
    journal = f"{harness.folder}/{name}/journal.jsonl"
    assert not os.path.exists(journal) or os.path.getsize(journal) == 0, "results wait in the journal"
    return kills, len(known)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("autotune")
    parser.add_argument("recording")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgres", action="store_true")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="run_kills_") as folder:
        harness = Harness(options, folder)
        start = time.monotonic()
        harness.finish(harness.tune("unbroken", harness.store("unbroken"), resume=False))
        seconds = time.monotonic() - start
        expected = harness.best("unbroken")
        assert expected, "the unbroken run found nothing"
        kills = kept = 0
        for run in range(options.runs):
            name = f"run{run}"
            killed, known = one_run(harness, name, chance, 1.1 * seconds)
            kills += killed
            kept += known
            assert harness.best(name) == expected, f"{name} ended with another best"
        assert kills > 0, "no run was killed in time"
        print(f"{options.runs} runs killed {kills} times: the same best; {kept} measurements recorded "
              "before the kills, 0 lost, 0 twice")


if __name__ == "__main__":
    main()
