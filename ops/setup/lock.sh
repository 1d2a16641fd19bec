#!/bin/sh
# Renews requirements.lock from pyproject.toml: `make lock`.
#
# pip-compile runs in a throw-away environment and is given plain requirement lines, so that neither
# the project's own metadata is built nor an index, an option or a folder of this machine is written
# into the lock. It runs on the oldest Python that we support; a newer one may leave out back-ports.
set -eu

PIP_TOOLS=7.6.2
python=.venv/bin/python
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CACHE_DIR="$folder/cache"

"$python" - >"$folder/requirements.in" <<'PYTHON'
import sys
import tomllib

with open("pyproject.toml", "rb") as file:
    document = tomllib.load(file)
oldest = tuple(map(int, document["project"]["requires-python"].removeprefix(">=").split(".")))
if sys.version_info[: len(oldest)] != oldest:
    sys.exit(f"make lock: the lock is made by Python {oldest}; .venv has {sys.version.split()[0]}.")
for requirement in (
    *document["project"]["dependencies"],
    *document["project"]["optional-dependencies"]["test"],
    *document["build-system"]["requires"],
    "async-timeout>=4.0.3",  # redis wants it on 3.11.0 to 3.11.2, which pip-compile may not be.
):
    print(requirement)
PYTHON

"$python" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet "pip-tools==$PIP_TOOLS"
# The present lock stands where pip-compile looks for it, so that only what must change does;
# `rm requirements.lock && make lock` takes the newest of everything.
if [ -f requirements.lock ]; then cp requirements.lock "$folder/requirements.txt"; fi
"$folder/venv/bin/pip-compile" --quiet --generate-hashes --allow-unsafe --strip-extras --no-header \
    --no-annotate --no-emit-options --no-emit-index-url --no-emit-trusted-host --no-emit-find-links \
    --cache-dir "$folder/cache" --output-file "$folder/requirements.txt" "$folder/requirements.in"
{
    cat <<'HEADER'
# What Sluice and its tests run on: every package, one version, the hashes of all its published files.
# Made by `make lock` from pyproject.toml; to be renewed by it, not by hand. Installed by `make .venv`:
# pip install --require-hashes -r requirements.lock
HEADER
    sed -e '/^#/d' -e '/^$/d' \
        -e 's/^\(async-timeout==[^ ]*\) /\1 ; python_full_version < "3.11.3" /' "$folder/requirements.txt"
} >"$folder/requirements.lock"
mv "$folder/requirements.lock" requirements.lock
