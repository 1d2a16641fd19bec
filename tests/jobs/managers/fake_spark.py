"""Replacements of ``spark-submit`` and ``yarn`` with the documented behaviour and output of the real programs.

Spark is not needed: an application really runs, in a Python with a minimal ``pyspark``. In client mode it runs in the
foreground. On YARN and Kubernetes it runs in a session of its own, which represents the cluster.

    <FAKE_CLUSTER>/calls          each call of a program, one per line
    <FAKE_CLUSTER>/apps/<name>/   files of an application: pid, exit, killed
"""

import os
import shutil
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

CLUSTER = "FAKE_CLUSTER"
PYSPARK = {
    "pyspark/__init__.py": "",
    "pyspark/cloudpickle.py": "def register_pickle_by_value(module): pass\n",
    "pyspark/sql.py": (
        "class SparkSession:\n"
        "    sparkContext = 'the context'\n"
        "    def getOrCreate(self): return self\n"
        "    def stop(self): pass\n"
        "SparkSession.builder = SparkSession()\n"
    ),
}


def install(folder: Path) -> None:
    """Write the programs, and the ``pyspark`` package that drivers import."""
    (folder / "bin").mkdir(parents=True)
    for name in ("spark-submit", "yarn"):
        program = folder / "bin" / name
        program.write_text(
            f"#!{sys.executable}\nimport sys\nfrom tests.jobs.managers.fake_spark import main\nmain()\n"
        )
        program.chmod(0o755)
    for name, text in PYSPARK.items():
        (folder / "lib" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "lib" / name).write_text(text)


def main() -> None:
    program, words = Path(sys.argv[0]).name, sys.argv[1:]
    with (_cluster() / "calls").open("a") as calls:
        calls.write(" ".join((program, *words)) + "\n")
    if (_cluster() / "down").exists():
        sys.exit("Connection refused")
    if program == "yarn":
        _yarn(words)
    elif "--status" in words or "--kill" in words:
        _ask_kubernetes(words)
    else:
        _submit(words)


def _submit(words: list[str]) -> None:
    conf = dict(text.split("=", 1) for word, text in pairwise(words) if word == "--conf")
    application = words[-1]
    if conf.get("spark.submit.deployMode") != "cluster":
        python = os.environ["PYSPARK_DRIVER_PYTHON"]
        os.execv(python, (python, application))
    if (_cluster() / "slow").exists():
        signal.pause()
    if conf["spark.master"] == "yarn":
        name = f"application_1700000000000_{len(list(_apps().iterdir())) + 1:04}"
        _tell(f"26/11/20 10:00:00 INFO Client: Submitting application {name} to ResourceManager")
        _begin(name, application)
        if not (_cluster() / "silent").exists():
            _tell(f"26/11/20 10:00:00 INFO YarnClientImpl: Submitted application {name}")
    else:
        name = conf["spark.kubernetes.driver.pod.name"]
        if (_apps() / name).exists():
            sys.exit(f'pods "{name}" already exists')
        _begin(name, application)
        _tell(f"26/11/20 10:00:00 INFO Client: Deployed Spark application with pod name {name}")


def _begin(name: str, application: str) -> None:
    """Start a copy of the submitted application, as a cluster would."""
    place = _apps() / name
    place.mkdir()
    copy = shutil.copy(application, place / "application.py")
    script = f'"$1" "$2"; echo $? >"{place}/exit.new"; mv "{place}/exit.new" "{place}/exit"'
    leader = subprocess.Popen(
        ("/bin/sh", "-c", script, "cluster", sys.executable, str(copy)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    (place / "pid").write_text(str(leader.pid))


def _yarn(words: list[str]) -> None:
    about, verb, name = words
    place = _apps() / name
    if about != "application" or not place.exists():
        sys.stdout.write(f"Application with id '{name}' doesn't exist in RM or Timeline Server.\n")
        sys.exit(255)
    if verb == "-kill":
        sys.stdout.write(f"Killing application {name}\n")
        _kill(place)
        return
    stands = _stands(place)
    state = {"running": "RUNNING", "killed": "KILLED"}.get(stands, "FINISHED")
    final = {"running": "UNDEFINED", "killed": "KILLED", "0": "SUCCEEDED"}.get(stands, "FAILED")
    sys.stdout.write(
        "26/11/20 10:00:00 INFO client.RMProxy: Connecting to ResourceManager at rm/10.0.0.1:8032\n"
        f"Application Report : \n\tApplication-Id : {name}\n\tApplication-Type : SPARK\n\tProgress : 10%\n"
        f"\tState : {state}\n\tFinal-State : {final}\n\tTracking-URL : N/A\n\tLog Aggregation Status : SUCCEEDED\n"
        f"\tDiagnostics : {'User application exited with status 1' if final == 'FAILED' else ''}\n"
        "\tUnmanaged Application : false\n"
    )


def _ask_kubernetes(words: list[str]) -> None:
    verb = "--status" if "--status" in words else "--kill"
    namespace, _, name = words[words.index(verb) + 1].partition(":")
    place = _apps() / name
    _tell(
        f"Submitting a request for {verb} of submission {namespace}:{name} in {words[words.index('--master') + 1]}."
    )
    if not place.exists():
        _tell("Application not found.")
    elif verb == "--kill":
        _kill(place)
        shutil.rmtree(place)
    else:
        phase = {"running": "Running", "0": "Succeeded"}.get(_stands(place), "Failed")
        _tell(
            f"Application status (driver): \n\t pod name: {name}\n\t namespace: {namespace}\n\t phase: {phase}\n"
            f"\t container status: \n\t\t container name: spark-kubernetes-driver\n\t\t exit code: {_stands(place)}"
        )


def _stands(place: Path) -> str:
    if (place / "killed").exists():
        return "killed"
    return (place / "exit").read_text().strip() if (place / "exit").exists() else "running"


def _kill(place: Path) -> None:
    (place / "killed").touch()
    os.killpg(int((place / "pid").read_text()), signal.SIGKILL)


def _cluster() -> Path:
    return Path(os.environ[CLUSTER])


def _apps() -> Path:
    apps = _cluster() / "apps"
    apps.mkdir(exist_ok=True)
    return apps


def _tell(text: str) -> None:
    """Write a line to stderr, where Spark writes its log."""
    sys.stderr.write(f"{text}\n")
