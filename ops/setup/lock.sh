#!/bin/sh
# Renews requirements.lock from pyproject.toml: `make lock`.
#
# pip-compile runs in a throw-away environment and is given plain requirement lines, so that neither
# the project's own metadata is built nor an index, an option or a folder of this machine is written
# into the lock. It runs on the oldest Python that we support; a newer one may leave out back-ports.
# The sections are in the order: what every Sluice runs on, the extra `embedded`, the extra `trace`, `make test`,
# `make check` and `make night`. To install less, cut the file at a section's heading. Other extras are left to their
# users' choice.
set -eu

PIP_TOOLS=7.6.2
python=.venv/bin/python
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CACHE_DIR="$folder/cache"

"$python" - "$folder" <<'PYTHON'
import sys
import tomllib
from pathlib import Path

document = tomllib.loads(Path("pyproject.toml").read_text())
oldest = tuple(map(int, document["project"]["requires-python"].removeprefix(">=").split(".")))
if sys.version_info[: len(oldest)] != oldest:
    oldest = ".".join(map(str, oldest))
    sys.exit(f"make lock: it takes Python {oldest}, and .venv has {sys.version.split()[0]}: make clean first.")
running = [
    *document["project"]["dependencies"],
    *document["build-system"]["requires"],
    "async-timeout>=4.0.3",  # redis wants it on 3.11.0 to 3.11.2, which this Python may not be.
]
optional = document["project"]["optional-dependencies"]
wanted = []
for name, more in (
    ("running", running),
    ("embedded", optional["embedded"]),
    ("trace", optional["trace"]),
    ("tests", optional["dev"]),
    ("all", optional["dev-full"]),
):
    wanted += more
    Path(sys.argv[1], f"{name}.in").write_text("\n".join(wanted))
PYTHON

"$python" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet "pip-tools==$PIP_TOOLS"
compile() {
    "$folder/venv/bin/pip-compile" --quiet --allow-unsafe --strip-extras --no-header --no-annotate \
        --no-emit-options --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
        --cache-dir "$folder/cache" "$@"
}
# The present lock stands where pip-compile looks for it, so that only what must change does;
# `rm requirements.lock && make lock` takes the newest of everything.
if [ -f requirements.lock ]; then cp requirements.lock "$folder/all.txt"; fi
compile --generate-hashes --output-file "$folder/all.txt" "$folder/all.in"
for part in running embedded trace tests; do
    compile --constraint "$folder/all.txt" --output-file "$folder/$part.txt" "$folder/$part.in"
done

"$python" - "$folder" <<'PYTHON'
import re
import sys
from pathlib import Path

HEADER = """\
# What Sluice and its tests run on: every package, one version, the hashes of all its published files.
# Made by `make lock` from pyproject.toml; to be renewed by it, not by hand. Installed by `make .venv`:
# pip install --require-hashes -r requirements.lock
"""


def packages(name):
    lines = [line for line in Path(sys.argv[1], name).read_text().splitlines() if line and line[0] != "#"]
    blocks = re.split(r"\n(?=\w)", "\n".join(lines))
    return {block.partition("==")[0]: block for block in blocks}


running, embedded, trace, tests, everything = (
    packages(f"{name}.txt") for name in ("running", "embedded", "trace", "tests", "all")
)
timeout = everything["async-timeout"]
everything["async-timeout"] = re.sub(r"(==\S+).*", r'\1 ; python_full_version < "3.11.3" \\', timeout, count=1)
parts = [
    HEADER.rstrip(),
    *(everything[name] for name in sorted(running)),
    "# For the extra `embedded`.",
    *(everything[name] for name in sorted(embedded.keys() - running.keys())),
    "# For the extra `trace`.",
    *(everything[name] for name in sorted(trace.keys() - embedded.keys())),
    "# For `make test`.",
    *(everything[name] for name in sorted(tests.keys() - trace.keys())),
    "# For `make check` and `make night`.",
    *(everything[name] for name in sorted(everything.keys() - tests.keys())),
]
Path("requirements.lock").write_text("\n".join(parts) + "\n")
PYTHON
