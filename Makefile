# make demo    a small pipeline on the embedded default, with a live display
# make test    style, types and every test; sets up what they need
# make lint    style and types alone
# make site    the documentation as a site, in site/, to be read without a network
# make lock    renew requirements.lock from pyproject.toml
# make sbom    what Sluice runs on, as CycloneDX, in sluice.cdx.json
# make audit   whether anything of it has a known vulnerability; asks PyPI, so it takes a network
# make clean   remove what was made here, .venv included (not .sluice: that is somebody's ledger)
#
# All of them need Python 3.11 or newer, called python3 or named by PYTHON=…, and nothing else.
# The tests run in as many processes as there are cores, four at the most. PYTEST_ARGS="-k walk -x" chooses among them, and adding
# -n 0 runs them in one. CI=true makes every server they can use required.

PYTHON ?= python3
bin = .venv/bin

demo: .venv/installed
	@$(bin)/python -m ops.demo

test: .venv/tested
	@sh ops/setup/services.sh
	@$(MAKE) --no-print-directory lint
	@$(bin)/python -m pytest --quiet --numprocesses auto --maxprocesses 4 --dist worksteal $(PYTEST_ARGS)

lint: .venv/tested
	@$(bin)/ruff check --quiet .
	@$(bin)/ruff format --quiet --check . || { echo "make lint: run .venv/bin/ruff format ." >&2; exit 1; }
	@$(bin)/mypy --no-error-summary

site: .venv/installed
	@$(bin)/python -m ops.site

lock: .venv/installed
	@sh ops/setup/lock.sh

sbom: .venv/installed
	@$(bin)/python -m ops.sbom >sluice.cdx.json

audit: .venv/installed
	@sh ops/setup/audit.sh

clean:
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist site sluice.cdx.json *.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv: .venv/tested

# Each stamp is younger than what it was installed from, or the environment is brought up to date.
.venv/installed: requirements.lock pyproject.toml ops/setup/venv.sh
	@PYTHON="$(PYTHON)" sh ops/setup/venv.sh running
	@touch $@

.venv/tested: .venv/installed
	@sh ops/setup/venv.sh testing
	@touch $@

.PHONY: demo test lint site lock sbom audit clean .venv
