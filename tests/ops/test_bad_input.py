"""Bad input: an exit code, the error with its place and advice in lines, and the same as JSON."""

import pytest

from tests.ops.typist import Typist

CASES = [
    # The command line, the exit code, and parts of the error.
    ("plam report", 2, ["no command 'plam'", "did you mean plan?"]),
    ("db chek", 2, ["did you mean check?"]),
    ("version", 2, ["did you mean --version?"]),
    ("backfill report", 2, ["did you mean submit?"]),
    ("partitions list", 2, ["did you mean ls?"]),
    ("apps list", 2, ["did you mean show?"]),
    ("ls --colour red", 2, ["--colour", "sluice ls --help"]),
    ("show report", 2, ["report needs a key.", "Write it like 20140601"]),
    ("parents fetsh 1", 2, ["no app 'fetsh'", "did you mean fetch?", "sluice apps show"]),
    ("parents fetch 20261120", 2, ["'20261120' is not a key of fetch", "{date}_{shop}"]),
    ("submit fetch 20261320_oslo", 2, ["at date", "is not a day"]),
    ("submit wake 7", 2, ["wake/7 fits none of the app's dependency groups"]),
    ("submit fetch", 2, ["no values for date", "`sluice plan fetch 20140601_"]),
    ("submit fetch 20261120_oslo --work-ids 1-3", 2, ["set only one of key, keys, work_ids"]),
    ("submit fetch 20261120_oslo --kwargs {bad", 2, ["--kwargs", "JSON"]),
    ("submit fetch 20261120_oslo --kwargs [1]", 2, ["--kwargs", "object"]),
    (
        f'submit fetch 20261120_oslo --kwargs {{"a":{"[" * 2000}{"]" * 2000}}}',
        2,
        ["--kwargs", "nests deeper than 64 levels"],
    ),
    (
        'submit fetch 20261120_oslo --policy {"max_fail":1}',
        2,
        ["unknown option 'max_fail'", "did you mean max_fails?"],
    ),
    ("submit fetch 20261120_oslo --timeout soon", 2, ["timeout", "'soon' is not a duration"]),
    ("submit fetch 20261120_oslo --max-fails many", 2, ["--max-fails"]),
    ("submit fetch 20261120_oslo --start-after noon", 2, ["--start-after", "'noon' is not a time"]),
    ("submit fetch --keys-from nowhere.txt", 2, ["keys cannot be read", "nowhere.txt"]),
    ("submit fetch --keys-from /dev/null", 2, ["no keys"]),
    ("plan report 20261120 --facts nowhere.json", 2, ["facts cannot be read", "nowhere.json"]),
    ("run report 20261120 --threads 0", 2, ["--threads"]),
    ("ls --state done", 2, ["--state"]),
    ("ls --since yesterday", 2, ["--since", "'yesterday'"]),
    ("ls --ledger mysql://here", 2, ["SLUICE_LEDGER_URL", "'mysql'", "postgresql://"]),
    ("ls --broker kafka://here", 2, ["SLUICE_BROKER_URL", "'kafka'", "amqp://"]),
    ("graph --format svg -o nowhere/apps.svg", 2, ["cannot be written", "nowhere/apps.svg"]),
    ("ls", 3, ["ledger does not answer", "postgresql://127.0.0.1:1/sluice"]),
    ("up", 3, ["ledger does not answer"]),
    ("run report 20261120", 3, ["ledger does not answer"]),
    ("submit report 20261120", 3, ["ledger does not answer"]),
]


@pytest.mark.parametrize(("typed", "code", "words"), CASES)
def test_bad_input_is_reported_with_advice(offline: Typist, typed: str, code: int, words: list[str]) -> None:
    said = offline.types(*typed.split(), "--json")
    assert said.code == code, said.err
    assert said.err.startswith("sluice: ")
    error = said.document["error"]
    told = " ".join([error["what"], error["where"], error["advice"]])
    assert [word for word in words if word not in told] == []
    assert [word for word in words if word not in said.err] == []


def test_every_fault_of_the_definitions_is_listed_at_once(offline: Typist) -> None:
    offline.apps(
        "bad.json",
        {
            "a b": {"job_id": "{n}", "bash_cmd": "true"},
            "typo": {"job_id": "{n}", "bash_cmd": "true", "max_fail": 2},
            "orphan": {"job_id": "{n}", "bash_cmd": "true", "depends_on": {"app_name": ["tipo"]}},
        },
    )
    offline.write("broken.py", "import nothing_of_that_name\n")
    said = offline.types("--apps", "bad.json", "--apps", "broken.py", "--json", "apps", "check")
    assert said.code == 2
    assert [(fault["source"], fault["app"]) for fault in said.document["errors"]] == [
        ("bad.json", "a b"),
        ("bad.json", "orphan"),
        ("bad.json", "typo"),
        ("broken.py", ""),
    ]
    assert "did you mean typo?" in said.err
    assert "nothing_of_that_name" in said.err


def test_apps_check_without_definitions_is_refused(offline: Typist) -> None:
    said = offline.types("apps", "check", SLUICE_APPS="")
    assert said.code == 2
    assert said.err.splitlines() == [
        "sluice: No definitions were given.",
        "  advice: Name a source with --apps FILE, or set SLUICE_APPS.",
    ]


def test_debug_shows_the_traceback(offline: Typist) -> None:
    with offline.starts("--debug", "parents", "fetch", "x") as process:
        _, err = process.communicate(timeout=20)
    assert "Traceback" in err
    assert process.returncode == 2
