"""Apps that are not Python: a script that a worker fetches as a program, and a command."""

import sys
from pathlib import Path

from tests.chaos.effects import VARIABLE
from tests.leashed import ROOT

_RUN = f"""#!/bin/sh
set -e
{sys.executable} -m tests.chaos.effects start
sleep 0.2
{sys.executable} -m tests.chaos.effects end
"""
_APPS = """
errand:
  source: "file:{script}"
{words}
chore:
  bash_cmd: "{python} -m tests.chaos.effects start && {python} -m tests.chaos.effects end"
{words}
"""
_WORDS = """
  job_id: "{{n}}"
  identifiers: {{n: int}}
  env: {{PYTHONPATH: "{root}"}}
  env_from_os: [{variable}]
  max_fails: 2
  max_losses: 1000000
"""


def written(folder: Path) -> Path:
    """Write the file of definitions, with the script beside it. Return its path."""
    script = folder / "run.sh"
    script.write_text(_RUN)
    script.chmod(0o755)
    apps = folder / "errand.yaml"
    words = _WORDS.format(root=ROOT, variable=VARIABLE)
    apps.write_text(_APPS.format(script=script, python=sys.executable, words=words))
    return apps
