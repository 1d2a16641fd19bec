"""Apps of the small world that are not Python: one prints more than the ledger stores, three are programs."""

import json
from pathlib import Path

PROGRAMS = ("carve", "paint", "dry")
_NOTE = 'echo "$SLUICE_APP $SLUICE_JOB $SLUICE_CLAIM" >> "$EFFECTS"'
_WORDS = {"job_id": "{n}", "max_losses": 1000, "env_from_os": ["EFFECTS"]}


def declare(folder: Path) -> Path:
    """Write the definitions, and the files that they name. Return their path."""
    apps: dict[str, object] = {
        "printer": {
            **_WORDS,
            "keep_output": True,
            "bash_cmd": f"{_NOTE}; head -c 200000 /dev/zero | tr '\\0' x",
        }
    }
    for name in PROGRAMS:
        script = folder / name / "run.sh"
        script.parent.mkdir()
        script.write_text(f"#!/bin/bash\n{_NOTE}\necho {name}\n")
        script.chmod(0o755)
        apps[name] = {**_WORDS, "source": f"file:{script}", "input": "{n}"}
    source = folder / "apps.json"
    source.write_text(json.dumps(apps))
    return source
