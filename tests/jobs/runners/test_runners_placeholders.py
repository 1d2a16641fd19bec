"""Values in shell commands: none is executed, for any value and any text around the placeholder."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.runners.command.placeholders import fill, placeholders

HOSTILE = [
    "$(touch ran)",
    "`touch ran`",
    "'; touch ran #",
    '"; touch ran #',
    "a\ntouch ran\n",
    "; touch ran",
    "' $(touch ran) '",
    '" $(touch ran) "',
    "x' ; touch ran ; '",
    "${IFS}touch${IFS}ran",
    "&& touch ran",
    "\\",
    "\\'",
    "*",
    "~",
    "a  b",
    "!!",
    "",
    "-rf",
    "--",
    "-",
    "#",
    "a=b",
    "{x}",
    "ä\u2028ö",
]
#: Texts around the placeholder in which the value is printed unchanged.
FAITHFUL = ["{v}", '"{v}"', "'{v}'", "''{v}\"\"", 'a"b\\"{v}"', "'\\'{v}", "\\\"{v}'x'"]
#: Texts around the placeholder in which the value may be changed, but must not be executed.
INERT = [
    "$(printf %s {v})",
    "\"$(printf %s '{v}')\"",
    "`printf %s {v}`",
    '"`printf %s {v}`"',
    "$'{v}'",
    "x # {v}\n",
    "x # don't {v}\n",
    "\\{v}",
    "${{none:-{v}}}",
    '"${{none:-{v}}}"',
    "x <<END\n{v}\nEND\n",
    "x <<'END'\n{v}\nEND\n",
    "x <<END\nit's {v}\nEND\n",
    "x <<< {v}",
    '"$(case a in a) printf %s {v};; esac)"',
]
SHELLS = [shell for shell in ("bash", "sh") if shutil.which(shell)]


def printed(shell: str, command: str, folder: Path) -> str:
    """Return the shell's output of a command that runs in the folder."""
    arguments = [str(shutil.which(shell)), "-c", "--", command]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, check=False, timeout=10)
    return done.stdout.decode()


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("around", FAITHFUL)
def test_a_hostile_value_is_printed_unchanged_between_words_and_in_quotes(
    shell: str, around: str, tmp_path: Path
) -> None:
    values = {f"v{number}": value for number, value in enumerate(HOSTILE)}
    lines = [f"printf '<%s>' {around.replace('{v}', f'{{{name}}}')}" for name in values]
    wanted = printed(shell, f"printf '<%s>' {around.replace('{v}', 'harmless')}", tmp_path)
    output = printed(shell, fill("\n".join(lines), values), tmp_path)
    assert output == "".join(wanted.replace("harmless", value) for value in HOSTILE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shell", SHELLS)
def test_a_hostile_value_is_not_executed_with_any_text_around_it(shell: str, tmp_path: Path) -> None:
    for around in INERT:
        for value in HOSTILE:
            printed(shell, fill(f"printf '<%s>' {around}", {"v": value}), tmp_path)
            assert list(tmp_path.iterdir()) == [], (around, value)


@given(st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])))
def test_any_value_is_one_word_to_the_shell(value: str) -> None:
    command = fill("echo {v}", {"v": value})
    assigned, _, rest = command.rpartition("; ")
    assert rest == 'echo "${sluice_0}"' or command == f"echo {value}"
    if assigned:
        assert shlex.split(assigned.removeprefix("sluice_0=")) == [value]


def test_a_harmless_value_is_inserted_unchanged_even_in_a_here_document(tmp_path: Path) -> None:
    command = fill("cat <<'END'\n{day}\nEND", {"day": 20140101})
    assert printed("sh", command, tmp_path) == "20140101\n"


def test_a_quote_in_a_comment_does_not_begin_a_quotation(tmp_path: Path) -> None:
    command = fill("true # don't\nprintf %s {v}#'{v}'", {"v": "a b"})
    assert printed("sh", command, tmp_path) == "a b#a b"


def test_a_number_before_a_redirection_is_not_a_descriptor(tmp_path: Path) -> None:
    assert printed("sh", fill("echo {n}>file; cat file", {"n": 2}), tmp_path) == "2\n"


def test_a_value_that_looks_like_an_assignment_is_not_assigned(tmp_path: Path) -> None:
    assert printed("sh", fill("{v} printf %s fell through", {"v": "PATH=/"}), tmp_path) == ""


def test_doubled_braces_become_single_braces() -> None:
    assert fill("awk '{{print $1}}' ${{HOME}} {{{v}}}", {"v": 1}) == "awk '{print $1}' ${HOME} {1}"


@pytest.mark.parametrize("command", ["echo ${a}", 'echo "x${a}"', "$$${a}", "\\\\${a}"])
def test_an_ambiguous_shell_variable_is_refused_with_both_spellings(command: str) -> None:
    with pytest.raises(
        ValueError, match=r"\$\{a\}: write \{a\} for the value, \$\{\{a\}\} for a shell variable"
    ):
        fill(command, {"a": "PATH"})


def test_an_escaped_or_quoted_dollar_may_precede_a_value(tmp_path: Path) -> None:
    command = fill("echo \\${a} \"\\${a}\" '${a}'", {"a": "PATH"})
    assert printed("sh", command, tmp_path) == "$PATH $PATH $PATH\n"


def test_a_value_is_not_searched_for_placeholders(tmp_path: Path) -> None:
    assert printed("sh", fill("printf %s {a}", {"a": "{b}", "b": "wrong"}), tmp_path) == "{b}"


def test_a_value_may_be_used_several_times(tmp_path: Path) -> None:
    assert (
        printed("sh", fill("printf %s {a}{b} \"{a}\" '{b}'", {"a": "x y", "b": "$"}), tmp_path) == "x y$x y$"
    )


@pytest.mark.parametrize("command", ["{a", "a}", "{{a}", "{a}}", "{a{b}}"])
def test_a_brace_that_is_neither_doubled_nor_closed_is_refused(command: str) -> None:
    with pytest.raises(ValueError, match="write it twice"):
        fill(command, {"a": 1, "b": 2})


@pytest.mark.parametrize("name", ["", "print $1", "a.b", "a[0]", "a!r", "a:>9"])
def test_an_unknown_placeholder_is_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=r"there is no value for \{") as refusal:
        fill(f"echo {{{name}}}", {"a": 1})
    assert f"{{{name}}}" in str(refusal.value)


def test_the_placeholders_of_a_command_are_listed() -> None:
    assert list(placeholders("x {a} {{b}} '{c}' {a}")) == ["a", "c", "a"]
