#!/bin/sh
# Makes .venv, or brings it up to date: what requirements.lock pins, and Sluice itself, in place.
# Called by `make` with `running` for what Sluice needs, `testing` for `make test`, `complete` for the whole lock. It
# writes nothing outside this checkout, and fetches nothing that is not pinned.
set -eu

PYTHON=${PYTHON:-python3}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1

stop() {
    for line in "$@"; do printf 'make .venv: %s\n' "$line" >&2; done
    exit 1
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

if ! new_enough .venv/bin/python || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    command -v "$PYTHON" >/dev/null || stop \
        "there is no program named $PYTHON." "Install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3.11"
    new_enough "$PYTHON" || stop \
        "Sluice needs Python 3.11 or newer; $PYTHON is $("$PYTHON" --version 2>&1)." \
        "Name a newer one: make PYTHON=/path/to/python3.11"
    "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null || stop \
        "$PYTHON cannot make a virtual environment: its modules venv and ensurepip are not installed." \
        "On Debian and Ubuntu they are a package: apt-get install python3-venv"
    rm -rf .venv
    "$PYTHON" -m venv .venv
fi

# Modules are compiled when they are first imported; most never are, and it takes as long as the download.
# What pip says matters only on failure.
install() {
    .venv/bin/python -m pip install --quiet --no-compile "$@" >.venv/install.log 2>&1 && return
    cat .venv/install.log >&2
    stop "the packages could not be installed; pip's own words stand above."
}

# The packages of requirements.lock up to a section's heading.
install_up_to() {
    sed "/^# For $1/,\$d" requirements.lock >.venv/part.lock
    install --require-hashes --requirement .venv/part.lock
}

case $1 in
running)
    echo "make .venv: installing what Sluice runs on …"
    install_up_to "the extra \`trace"
    install --no-deps --no-index --no-build-isolation --editable .
    ;;
testing)
    echo "make .venv: installing what make test needs …"
    install_up_to "\`make check"
    ;;
complete)
    echo "make .venv: installing what make check and make night need …"
    install --require-hashes --requirement requirements.lock
    ;;
esac
