#!/bin/sh
# What `make test` and `make check` leave out. Called by `make night`; takes about two hours on two cores.
#
# Every step runs, whatever became of those before it. The end lists how long each took, and which failed.
set -u

python=.venv/bin/python
pytest="$python -m pytest --quiet --numprocesses auto --maxprocesses 4 --dist worksteal"
lock=requirements.lock
build=build/night
report=$build/report
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

rm -rf "$build"
mkdir -p "$build"

step() {
    name=$1
    shift
    echo "make night: $name …"
    began=$(date +%s)
    if "$@"; then result=passed; else result=FAILED; fi
    echo "$result $(($(date +%s) - began)) s: $name" >>"$report"
}

newest_dramatiq() {
    "$python" -m pip install --quiet --no-deps --target "$build/dramatiq" --upgrade dramatiq &&
        PYTHONPATH="$build/dramatiq" $pytest tests/broker tests/live/test_killed_workers.py
}

# Celery and the others that benchmarks and the ordeal compare with, in an environment of their own.
contests() {
    "$python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"], sep="\n")' \
        >"$build/bench.txt" &&
        "$python" -m venv "$build/venv" &&
        "$build/venv/bin/python" -m pip install --quiet --require-hashes --requirement "$lock" &&
        "$build/venv/bin/python" -m pip install --quiet --requirement "$build/bench.txt" &&
        "$build/venv/bin/python" -m pip install --quiet --no-deps --no-index --no-build-isolation --editable . &&
        "$build/venv/bin/python" -m pytest --quiet tests/ops/test_contest.py &&
        "$build/venv/bin/python" -m tests.ordeal --broker redis --jobs 800 --seconds 20 &&
        "$build/venv/bin/python" -m tests.ordeal --broker rabbit --jobs 400 --seconds 15
}

# shellcheck disable=SC2086 # The words of PYTEST_ARGS and of pytest are separate arguments.
step "the tests of this tier" $pytest --tier night ${PYTEST_ARGS:-}
step "the tests that compare times" "$python" -m pytest --quiet --tier alone
# Only the files with properties are collected: all of them would cost each process 120 MB.
# shellcheck disable=SC2046,SC2086
step "properties, with many examples" $pytest -m hypothesis --hypothesis-profile thorough --timeout 1800 \
    $(grep -rlE '^(from|import) hypothesis' tests --include='test_*.py')
step "chaos on RabbitMQ" "$python" -m tests.chaos --seconds 90 --seed 7 --broker rabbit
# The test of chaos, which looks at more than violations, runs on RabbitMQ in `make check`.
step "the test of chaos on Redis" env SLUICE_CHAOS_BROKER=redis $pytest tests/chaos/test_chaos.py
step "chaos on Redis" "$python" -m tests.chaos --seconds 90 --seed 8 --broker redis
step "soak" "$python" -m tests.soak --jobs 200000
step "other releases of Postgres" "$python" -m tests.postgres_versions
step "the newest dramatiq" newest_dramatiq
step "contests with others" contests

echo
cat "$report"
! grep -q FAILED "$report"
