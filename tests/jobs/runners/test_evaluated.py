"""Places at which a shell evaluates a value as code, which no quoting prevents."""

import shutil
import subprocess
from pathlib import Path

import pytest

from sluice.jobs.runners.command.bash_words import ARITHMETIC, CODE, NAME, SUBSCRIPT
from sluice.jobs.runners.command.evaluated_values import evaluated
from sluice.jobs.runners.command.placeholders import fill

#: By command, the construct that evaluates the placeholder ``n``.
EVALUATED = {
    "echo $(( {n} + 1 ))": ARITHMETIC,
    'echo "$(( {n} + 1 ))"': ARITHMETIC,
    "echo $((1+({n})))": ARITHMETIC,
    "echo $(( (1) + {n} ))": ARITHMETIC,
    "echo $(( $(echo {n}) ))": ARITHMETIC,
    'echo $(( "{n}" ))': ARITHMETIC,
    "(( {n} > 3 )) && true": ARITHMETIC,
    "if (( {n} > 3 )); then true; fi": ARITHMETIC,
    "for (( i = 0; i < {n}; i++ )); do true; break; done": ARITHMETIC,
    "echo $[ {n} + 1 ]": ARITHMETIC,
    "let x={n}": ARITHMETIC,
    "let 'x = {n}'": ARITHMETIC,
    "true && let x={n}": ARITHMETIC,
    "declare -i x={n}": ARITHMETIC,
    "declare -xi x={n}": ARITHMETIC,
    "if [[ {n} -gt 3 ]]; then true; fi": ARITHMETIC,
    'if [[ "{n}" -gt 3 ]]; then true; fi': ARITHMETIC,
    "[[ 3 -eq {n} ]] || true": ARITHMETIC,
    "[[ x == y || ( {n} -lt 3 ) ]]": ARITHMETIC,
    "[[ $(echo {n}) -le 3 ]]": ARITHMETIC,
    "a=(1 2); echo ${{a[{n}]}}": SUBSCRIPT,
    'a=(1 2); echo "${{a[{n}]}}"': SUBSCRIPT,
    "a[{n}]=1": SUBSCRIPT,
    "a[{n}]+=1": SUBSCRIPT,
    "x=abc; echo ${{x:{n}}}": ARITHMETIC,
    "x=abc; echo ${{x:0:{n}}}": ARITHMETIC,
    'x=abc; echo "${{x: {n}}}"': ARITHMETIC,
    "echo ${{{n}}}": NAME,
    "echo ${{!{n}}}": NAME,
    "[[ -v {n} ]]": NAME,
    "test -v {n}": NAME,
    "[ -v {n} ]": NAME,
    "unset {n}": NAME,
    "unset 'a[{n}]'": NAME,
    "read {n} < /dev/null": NAME,
    "printf -v {n} x": NAME,
    "export {n}=1": NAME,
    "eval echo {n}": CODE,
    "eval 'echo {n}'": CODE,
    'builtin eval "echo {n}"': CODE,
    "trap 'echo {n}' EXIT": CODE,
    "bash -c 'echo {n}'": CODE,
    'sh -c "echo {n}"': CODE,
    "bash -ec 'echo {n}'": CODE,
    "bash -e -o pipefail -c 'echo {n}'": CODE,
    "exec /bin/sh -c 'echo {n}'": CODE,
    "env A=1 timeout 9 sh -c 'echo {n}'": CODE,
    "if true; then eval {n}; fi": CODE,
    "x=$(eval {n})": CODE,
    "x=`eval {n}`": CODE,
    "(eval {n})": CODE,
    "cat <<EOF\nit's $(( {n} ))\nEOF\n": ARITHMETIC,
    "cat <<'EOF'\nit's\nEOF\necho $(( {n} ))": ARITHMETIC,
    "cat <<'EOF'\n\tEOF\n'\nEOF\necho $(( {n} ))": ARITHMETIC,
    "cat <<-'EOF'\n\t'\n\tEOF\necho $(( {n} ))": ARITHMETIC,
    "cat <<-'EOF'\n\tEOF\nx=$(( {n} ))": ARITHMETIC,
    "echo it\\'s; echo $(( {n} ))": ARITHMETIC,
    "# it's a comment\necho $(( {n} ))": ARITHMETIC,
    "echo $'it\\'s'; echo $(( {n} ))": ARITHMETIC,
}  # fmt: skip
#: Commands in which the placeholder is a word, or a part of one, and is not evaluated.
WORDS = [
    "echo {n}",
    'echo "{n}"',
    "echo '{n}'",
    "echo $(( 1 + 1 )) {n}",
    "echo $(( (1) )) {n}",
    "echo '$((' {n} '))'",
    'echo "((" {n} "))"',
    "echo \\$\\(\\( {n} \\)\\)",
    "# $(( )) \necho {n}",
    "echo {n} # (( it's ))",
    "[[ {n} == 3 ]]",
    "[[ $x -gt 3 && {n} == a ]]",
    "[ {n} -gt 3 ]",
    "test {n} -gt 3",
    "ls img[{n}].png",
    "x=abc; echo ${{x:-{n}}} ${{x#{n}}} ${{x/{n}/y}}",
    'echo "${{x:-{n}}}"',
    "(echo {n})",
    "( (echo {n}) )",
    "x=$(echo {n})",
    "x={n}",
    "export X={n}",
    "declare x={n}",
    "declare -r x={n}",
    "local x={n}",
    "read x <<< {n}",
    "printf '%s' {n}",
    "printf -v x '%s' {n}",
    "bash -c 'echo \"$1\"' run {n}",
    "bash script.sh {n}",
    "bash script.sh -c {n}",
    "cat <<EOF\nit's {n}\nEOF\n",
    "cat <<'EOF'\n$(( {n} ))\nEOF\n",
    "echo eval {n}",
    "grep -c {n} file",
    "for i in {n}; do echo $i; done",
    "case {n} in a) echo b;; esac",
    "a=({n} b)",
]


@pytest.mark.parametrize("command", EVALUATED)
def test_a_placeholder_that_the_shell_evaluates_is_found(command: str) -> None:
    assert evaluated(command) == {"n": EVALUATED[command]}


@pytest.mark.parametrize("command", WORDS)
def test_a_placeholder_that_is_a_word_is_not_reported(command: str) -> None:
    assert evaluated(command) == {}


@pytest.mark.parametrize("command", WORDS)
@pytest.mark.parametrize("value", ["a[$(touch made)]", "$(touch made)", "'; touch made; '"])
def test_a_value_that_is_a_word_is_not_executed_by_bash(command: str, value: str, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash on this machine")
    subprocess.run(
        (bash, "-c", "--", fill(command, {"n": value})),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=20,
    )
    assert not (tmp_path / "made").exists()


UNENDED = [
    "$((",
    "${{",
    '"',
    "'",
    "[[",
    "((",
    "`",
    "$[",
    "<<E\n{n}",
    "\\",
    "a[",
    "${{x:",
    "${{x[",
    "<<",
    "$'",
]


@pytest.mark.parametrize("command", UNENDED)
def test_an_unterminated_command_is_read_to_its_end(command: str) -> None:
    assert evaluated(command) in ({}, {"n": ARITHMETIC})
