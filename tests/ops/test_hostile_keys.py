"""Keys that contain shell code: from the command line to the shell of a command they remain plain words."""

import pytest

from tests.ops.typist import Typist

KEYS = [
    "$(touch ran)",
    "`touch ran`",
    "'; touch ran #",
    '"; touch ran #',
    "; touch ran",
    "-rf",
    "--",
    "a b",
    "${HOME}",
    "*",
]
COMMAND = """printf '<%s>' {tag} "{tag}" '{tag}' -- {job_id}; test $(printenv | grep -c '^SLUICE_JOB=') = 1"""


@pytest.mark.timeout(240)
def test_the_shell_of_a_command_runs_no_key(desk: Typist) -> None:
    desk.apps("hostile.json", {"say": {"job_id": "{tag}", "bash_cmd": COMMAND, "cwd": str(desk.folder)}})
    desk.write("hostile.keys", "\n".join(KEYS))
    said = desk.types("--apps", "hostile.json", "run", "say", "--keys-from", "hostile.keys", "--json")
    assert said.code == 0, said
    assert said.document["jobs"] == {"succeeded": len(KEYS)}
    assert sorted(path.name for path in desk.folder.iterdir() if path.name == "ran") == []
    for key in ("$(touch ran)", "'; touch ran #", "*"):
        shown = desk.types("--apps", "hostile.json", "show", "say", key, "--json").document
        assert shown["rounds"][0]["output"] == f"<{key}>" * 3 + "<-->" + f"<{key}>"


@pytest.mark.parametrize("key", ["a\ntouch ran", "\x1b[2J"])
def test_a_key_that_cannot_be_printed_is_refused(desk: Typist, key: str) -> None:
    desk.apps("hostile.json", {"say": {"job_id": "{tag}", "bash_cmd": COMMAND}})
    said = desk.types("--apps", "hostile.json", "submit", "say", key)
    assert said.code == 2
    assert "print" in said.err
    assert "\x1b" not in said.err


def test_a_key_with_a_nul_is_refused(desk: Typist) -> None:
    desk.apps("hostile.json", {"say": {"job_id": "{tag}", "bash_cmd": COMMAND}})
    desk.write("hostile.keys", "a\0b")
    assert desk.types("--apps", "hostile.json", "submit", "say", "--keys-from", "hostile.keys").code == 2
