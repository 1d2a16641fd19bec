#!/bin/sh
# Writes the bill of materials as CycloneDX, to sluice.cdx.json or the named file: `make sbom`.
#
# It lists the packages that Sluice runs on: the part of requirements.lock before the packages for tests. They are
# installed in a throw-away environment, because licences and dependencies are in the metadata of installed packages.
# Digests are not in the bill: the tool takes them only from a lock, where it finds neither licences nor dependencies. A
# package that this Python does not need is not in it either.
set -eu

CYCLONEDX_BOM=7.5.0
python=.venv/bin/python
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CACHE_DIR="$folder/cache"

sed '/^# For `make test`/,$d' requirements.lock >"$folder/running.lock"
"$python" -m venv --without-pip "$folder/running"
"$python" -m pip --python "$folder/running" install --quiet --no-compile --require-hashes --requirement "$folder/running.lock"
"$python" -m venv "$folder/tool"
"$folder/tool/bin/python" -m pip install --quiet "cyclonedx-bom==$CYCLONEDX_BOM"
"$folder/tool/bin/cyclonedx-py" environment --pyproject pyproject.toml --output-reproducible --validate \
    --output-file "$folder/bill.json" "$folder/running"
mv "$folder/bill.json" "${1:-sluice.cdx.json}"
