"""A fleet on this machine: `autotune fleet up`, runs on it, killed workers and drivers, `down`.

  fleet_cluster.py AUTOTUNE RECORDING [--bars HARDWARE_SOAK_TEST]

The workers sleep 100 ms for each measurement and invent times. With --bars also the throughput of 4
workers against 1, the overhead and ten kills in 400 measurements. Exit code 77 (skipped) where Ray is
not installed (./autotune --with fleet).
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

WORKERS = 4
PAUSE_MS = 100


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Fleet:
    def __init__(self, autotune, recording, folder):
        self.autotune = autotune
        self.recording = recording
        self.folder = folder
        self.config = os.path.join(folder, "worker.json")
        self.port = free_port()
        self.environment = dict(os.environ, AUTOTUNE_FLEET_FOLDER=os.path.join(folder, "state"))
        for name in ("RAY_ADDRESS", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
            self.environment.pop(name, None)

    def run(self, *arguments, expect=0, **variables):
        result = subprocess.run([self.autotune, *arguments], env=dict(self.environment, **variables),
                                capture_output=True, text=True, timeout=300, check=False)
        if result.returncode != expect:
            sys.exit(f"autotune {' '.join(arguments)} ended with {result.returncode}, not {expect}:\n"
                     f"{result.stdout}{result.stderr}")
        return result

    def up(self):
        with open(self.config, "w", encoding="utf-8") as file:
            json.dump({"backend": "sleep", "milliseconds": PAUSE_MS, "target": "v3"}, file)
        self.run("fleet", "up", "--workers", str(WORKERS), "--port", str(self.port),
                 "--worker-config", self.config)

    def token(self):
        return os.path.join(self.folder, "state", "token")

    def tune(self, name, budget):
        return [self.autotune, self.recording, "--backend", "fleet", "--model", "analytical", "--budget",
                str(budget), "--out", os.path.join(self.folder, name), "--quiet"]

    def measured(self, name):
        store = f"sqlite:{os.path.join(self.folder, name)}/records.db"
        lines = self.run("records", "export", "--store", store, "--out", "-").stdout.splitlines()
        records = [json.loads(line) for line in lines]
        return [r for r in records if r["record"] == "candidate" and r["fate"] == "measured"]


def check_listens_here_only(port):
    """Nothing of the head may be reachable from other machines."""
    with open("/proc/net/tcp6", encoding="ascii") as six, open("/proc/net/tcp", encoding="ascii") as four:
        for line in six.readlines()[1:] + four.readlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            if state == "0A" and int(local.split(":")[1], 16) == port:
                address = local.split(":")[0]
                assert address.endswith("0100007F"), f"the head listens on {address}"
                return
    sys.exit("the head does not listen")


def check_up_and_down(fleet):
    assert json.loads(fleet.run("fleet", "status", "--json", expect=1).stdout) == {
        "schema": "autotune.fleet/1", "up": False}
    fleet.run("tune", fleet.recording, "--backend", "fleet", expect=4)
    bad = os.path.join(fleet.folder, "bad.json")
    with open(bad, "w", encoding="utf-8") as file:
        file.write('{"backend": "sh"}')
    fleet.run("fleet", "up", "--worker-config", bad, expect=2)
    fleet.up()
    fleet.run("fleet", "up", "--worker-config", fleet.config, expect=2)
    status = json.loads(fleet.run("fleet", "status", "--json").stdout)
    assert status["up"] and status["workers"] == WORKERS, status
    assert os.stat(fleet.token()).st_mode & 0o077 == 0, "others can read the token"
    check_listens_here_only(fleet.port)


def check_token(fleet):
    """A driver without the right token is turned away."""
    wrong = os.path.join(fleet.folder, "wrong")
    with open(wrong, "w", encoding="utf-8") as file:
        file.write("0" * 64)
    command = fleet.tune("intruder", 5)
    variables = dict(fleet.environment, RAY_ADDRESS=f"127.0.0.1:{fleet.port}",
                     RAY_AUTH_TOKEN_PATH=wrong, AUTOTUNE_FLEET_RESOURCE="autotune")
    try:
        code = subprocess.run(command, env=variables, capture_output=True, timeout=60,
                              check=False).returncode
    except subprocess.TimeoutExpired:
        code = None
    assert code != 0, "a wrong token was accepted"


def check_run(fleet):
    subprocess.run(fleet.tune("plain", 24), env=fleet.environment, check=True,
                   stdout=subprocess.DEVNULL)
    measured = fleet.measured("plain")
    assert len(measured) == 24, len(measured)
    assert all(r["backend"] == "fleet" and r["source"] == "estimate" for r in measured)


def check_killed_driver(fleet):
    """Whoever drives may die: the run is resumed, and every candidate is there once."""
    driver = subprocess.Popen(fleet.tune("killed", 40), env=fleet.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    store = os.path.join(fleet.folder, "killed", "records.db")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and driver.poll() is None:
        if os.path.exists(store) and len(fleet.measured("killed")) >= 10:
            break
        time.sleep(0.2)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    before = {r["sequence"]: r for r in fleet.measured("killed")}
    assert 10 <= len(before) < 40, f"{len(before)} measured before the kill"
    fleet.run("--out", os.path.join(fleet.folder, "killed"), "--resume", "--quiet")
    after = {r["sequence"]: r for r in fleet.measured("killed")}
    assert len(after) == 40 and all(after[s] == r for s, r in before.items())
    assert len({(r["kernel"], json.dumps(r["config"])) for r in after.values()}) == 40


def soak(fleet, program, workers, test):
    variables = dict(fleet.environment, AUTOTUNE_TEST_FLEET=f"127.0.0.1:{fleet.port}",
                     AUTOTUNE_TEST_FLEET_TOKEN=fleet.token(), AUTOTUNE_TEST_FLEET_WORKERS=str(workers),
                     AUTOTUNE_TEST_FLEET_CONFIG=fleet.config,
                     AUTOTUNE_RAY_BRIDGE=os.path.join(os.path.dirname(fleet.autotune), "libautotune_ray.so"))
    result = subprocess.run([program, f"--gtest_filter=FleetCluster.{test}"], env=variables,
                            capture_output=True, text=True, timeout=300, check=False)
    if result.returncode != 0:
        sys.exit(result.stdout + result.stderr)
    return result.stdout


def check_bars(fleet, program):
    rates = {}
    for _ in range(2):  # the better of two: the machine may be busy with something else
        for workers in (1, WORKERS):
            output = soak(fleet, program, workers, "Throughput")
            rates[workers] = max(rates.get(workers, 0), float(output.split("rate ")[1].split()[0]))
    overhead = 1000 / rates[1] - PAUSE_MS
    gain = rates[WORKERS] / rates[1]
    print(f"{rates[1]:.2f} measurements/s with 1 worker, {rates[WORKERS]:.2f} with {WORKERS}: "
          f"{gain:.2f} times; overhead {overhead:.1f} ms a measurement")
    assert gain >= 3.6, gain
    assert overhead < 10, overhead
    print(soak(fleet, program, WORKERS, "AWorkerThatHangsIsReplaced").splitlines()[-4:])
    print(soak(fleet, program, WORKERS, "TenKillsInFourHundredMeasurements").splitlines()[-4:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("autotune")
    parser.add_argument("recording")
    parser.add_argument("--bars")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(os.path.dirname(options.autotune), "libautotune_ray.so")):
        print("skipped: no Ray (./autotune --with fleet)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="fleet_cluster_") as folder:
        fleet = Fleet(options.autotune, options.recording, folder)
        try:
            check_up_and_down(fleet)
            check_token(fleet)
            check_run(fleet)
            check_killed_driver(fleet)
            if options.bars:
                check_bars(fleet, options.bars)
        finally:
            fleet.run("fleet", "down")
        assert fleet.run("fleet", "status", expect=1).stdout == "down\n"


if __name__ == "__main__":
    main()
