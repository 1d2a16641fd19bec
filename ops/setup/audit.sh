#!/bin/sh
# Asks whether anything in requirements.lock has a known vulnerability: `make audit`.
#
# pip-audit asks PyPI's own database, so it takes a network, and its answer changes from day to day: it is no part
# of `make test`. What it cannot be told about is a failure, or a mirror that knows nothing would let all pass: exit code
# 3 where that is so of everything, and nothing has been looked at. It runs in a throw-away environment, and installs
# nothing that it looks at.
set -eu

PIP_AUDIT=2.10.1
python=.venv/bin/python
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CACHE_DIR="$folder/cache"

"$python" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet "pip-audit==$PIP_AUDIT"
audit() { "$folder/venv/bin/pip-audit" --cache-dir "$folder/audit" --strict --disable-pip "$@"; }

echo "pip-audit==$PIP_AUDIT" >"$folder/one.txt"
# It ends with 1 for a vulnerability as well as for an index that is out of reach or knows none.
if ! audit --no-deps --requirement "$folder/one.txt" >"$folder/said" 2>&1 && ! grep -q "known vulnerabilit" "$folder/said"; then
    tail -n 1 "$folder/said" | cut -c1-300 >&2
    echo "make audit: this package index cannot be asked about vulnerabilities; nothing was audited." >&2
    exit 3
fi
audit --require-hashes --requirement requirements.lock
