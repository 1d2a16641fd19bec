"""Signatures of messages, and the instructions for signing in ``docs/messages.md``."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sluice.broker import codec
from sluice.broker.codec import JsonEncoder
from sluice.broker.messages import Plan, Submit
from sluice.broker.signing import NO_KEYS, Keyring, parse_keys
from sluice.jobs.errors import BadMessage
from tests.broker.test_codec import EVERY_KIND, envelope

OLD, NEW = "o" * 32, "n" * 32
BEFORE, AFTER = Keyring({"old": OLD}), Keyring({"new": NEW})
TURNING = Keyring({"new": NEW, "old": OLD})
PAGE = Path(__file__).parents[2] / "docs" / "messages.md"


@pytest.mark.parametrize("message", EVERY_KIND, ids=lambda message: message.actor)
def test_every_kind_of_message_can_be_signed_and_read(message: codec.Message) -> None:
    signing = JsonEncoder(BEFORE)
    letter = codec.seal(message, signing)
    assert letter.body.startswith(b"HMAC-SHA256 old ")
    _, arrived = codec.unseal(letter.queue, letter.body, signing)
    assert codec.seal(arrived).queue == codec.seal(message).queue
    assert type(arrived) is type(message)


def test_a_key_can_be_replaced_while_messages_of_both_keys_are_in_transit() -> None:
    by_old, by_new = BEFORE.sign(b"{}"), TURNING.sign(b"{}")
    assert (TURNING.open(by_old), TURNING.open(by_new), AFTER.open(by_new)) == (b"{}", b"{}", b"{}")
    with pytest.raises(BadMessage, match="by the key 'old', which is not known here"):
        AFTER.open(by_old)


def test_without_keys_a_signature_is_ignored() -> None:
    assert NO_KEYS.open(BEFORE.sign(b"{}")) == NO_KEYS.open(b"{}") == b"{}"
    assert NO_KEYS.sign(b"{}") == b"{}"


SIGNED = BEFORE.sign(b'{"a": 1}')
FORGED = {
    "unsigned": (b'{"a": 1}', "it is not signed"),
    "nothing": (b"", "it is not signed"),
    "another envelope": (SIGNED.replace(b"1}", b"2}"), "is not right"),
    "a space more": (SIGNED + b" ", "is not right"),
    "another key's": (SIGNED.replace(b" old ", b" new "), "'new', which is not known here"),
    "another algorithm": (SIGNED.replace(b"SHA256", b"SHA1"), "it is not signed"),
    "a shorter signature": (SIGNED.replace(b"\n", b"", 1), "it is not signed"),
    "no id": (SIGNED.replace(b" old ", b"  "), "it is not signed"),
    "signed by a guess": (Keyring({"old": "x" * 32}).sign(b'{"a": 1}'), "is not right"),
    "signed twice": (Keyring({"x": "x" * 32}).sign(SIGNED), "which is not known here"),
}


@pytest.mark.parametrize(("body", "why"), FORGED.values(), ids=FORGED)
def test_an_unsigned_or_forged_message_is_refused_in_one_line(body: bytes, why: str) -> None:
    with pytest.raises(BadMessage, match=why) as refused:
        codec.unseal("planner", body, JsonEncoder(BEFORE))
    assert "\n" not in refused.value.what


def test_no_byte_of_a_signed_message_may_change() -> None:
    for place in range(len(SIGNED)):
        changed = bytearray(SIGNED)
        changed[place] ^= 1
        with pytest.raises(BadMessage):
            BEFORE.open(bytes(changed))


def test_the_id_of_an_unreadable_signed_message_is_found() -> None:
    assert codec.id_of(BEFORE.sign(envelope(actor_name="rm_rf"))) == "7c0f"


def test_the_size_limit_includes_the_signature() -> None:
    at_most = codec.MESSAGE_BYTES_MAX - len(codec.seal(Plan(submissions=("",))).body)
    assert len(codec.seal(Plan(submissions=("x" * at_most,))).body) == codec.MESSAGE_BYTES_MAX
    with pytest.raises(BadMessage, match="the limit is 4194304"):
        codec.seal(Plan(submissions=("x" * at_most,)), JsonEncoder(BEFORE))


def test_keys_may_be_written_on_one_line_or_on_several() -> None:
    body = parse_keys(f"new:{NEW},old:{OLD}").sign(b"{}")
    assert body == parse_keys(f"new:{NEW}\n old:{OLD}\n\n").sign(b"{}") == TURNING.sign(b"{}")
    assert parse_keys(f"k:{OLD}:{NEW}").open(Keyring({"k": f"{OLD}:{NEW}"}).sign(b"{}")) == b"{}"


WRONG = {
    "no id": (OLD, "no id before a colon"),
    "an id with a space": (f"a b:{OLD}", "no id before a colon"),
    "an empty id": (f":{OLD}", "no id before a colon"),
    "a guess": ("k:hunter2", "'k' is shorter than 32 characters"),
    "an id twice": (f"k:{OLD},k:{NEW}", "'k' is given twice"),
    "none": (" , \n", "it contains no key"),
}


@pytest.mark.parametrize(("text", "why"), WRONG.values(), ids=WRONG)
def test_wrong_keys_are_refused_and_not_shown(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        parse_keys(text)
    assert OLD not in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_a_keyring_shows_its_ids_and_no_secret() -> None:
    assert repr(TURNING) == f"{TURNING}" == "Keyring(new, old)"


def _example() -> tuple[str, bytes]:
    """Return the keys and the body of the documented example."""
    text = PAGE.read_text()
    keys = re.search(r"SLUICE_MESSAGE_KEYS=([\w:.-]+)", text)
    body = re.search(r"```text\n(HMAC-SHA256 .*?)\n```", text, re.DOTALL)
    assert keys
    assert body
    return keys[1], body[1].encode()


def test_the_documented_example_is_correct() -> None:
    keys, body = _example()
    _, message = codec.unseal("planner", body, JsonEncoder(parse_keys(keys)))
    assert isinstance(message, Submit)
    assert parse_keys(keys).sign(body.partition(b"\n")[2]) == body


def test_the_documented_openssl_command_signs_the_example(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("install openssl to have another program sign")
    keys, body = _example()
    (tmp_path / "envelope.json").write_bytes(body.partition(b"\n")[2])
    (command,) = re.findall(r"^(openssl dgst .*)$", PAGE.read_text(), re.MULTILINE)
    run = ["sh", "-c", command]
    done = subprocess.run(
        run, cwd=tmp_path, env={"SECRET": keys.partition(":")[2]}, capture_output=True, check=True
    )
    assert done.stdout.split()[-1] in body
