"""Programs: fetch the content of a source and start its ``run.sh`` with the words of the input."""

import logging
import os
import re
import threading
from collections.abc import Mapping

from msgspec.structs import replace

from sluice.jobs.errors import BadRequest
from sluice.jobs.model.job import Assignment, Ending, Outcome, RunContext
from sluice.jobs.model.program import PROGRAM_WORDS, Program, check_digest
from sluice.jobs.programs.errors import FetchStopped, Unfit
from sluice.jobs.runners.command.environment import command_environment
from sluice.jobs.runners.command.placeholders import fill_braces, values_of
from sluice.jobs.runners.output import Excerpt, job_log, worker_log
from sluice.jobs.runners.output_blobs import keep_whole
from sluice.jobs.runners.process.group import ProcessCommand
from sluice.jobs.runners.process.process import run_group
from sluice.jobs.runners.resources import Stores
from sluice.jobs.runners.run_outcome import failed, of_command, of_halt
from sluice.jobs.runners.stop_signal import Limits
from sluice.jobs.text.redaction import masked_value

RUN = "./run.sh"
#: Word of an input. Only ASCII white space separates words; a no-break space is part of a word.
_WORD = re.compile(r"[^ \t\n\r\f\v]+")


class ProgramRunner:
    """Runner of the program of an app, or of a submission if the app leaves it to the submission.

    The runner's own lines, for example about the fetch, are the outcome's ``log``. Mixed with the program's output,
    they could not be distinguished from it.
    """

    def __init__(self, program: Program, stores: Stores) -> None:
        self._program = program
        self._stores = stores

    def run(self, assignment: Assignment, *, stop: threading.Event, **_: object) -> Outcome:
        """Run the program. The callbacks are ignored because a program cannot call them."""
        limits = Limits(stop, assignment.timeout_s)
        lines = Excerpt(assignment.echo.stderr)
        log = job_log(assignment.name, write=lines.add_text, tell=worker_log(assignment.name))
        try:
            outcome = self._run(_Order.of(self._program, assignment), assignment, limits, log)
        except (BadRequest, Unfit) as error:
            outcome = failed(error.what)
            if isinstance(error, FetchStopped) and (halt := limits.reached()) is not None:
                ending, what = of_halt(halt, limits.timeout_s)
                outcome = Outcome(ending=ending, error=what)
        except (OSError, ValueError) as error:
            outcome = failed(f"The program could not be started: {error}.")
        if outcome.ending is Ending.TIMED_OUT:
            log.warning("terminated (execution timed out)")
        return replace(outcome, log=lines.text())

    def _run(self, order: "_Order", assignment: Assignment, limits: Limits, log: logging.Logger) -> Outcome:
        if assignment.policy.cwd:
            raise BadRequest("cwd: a program always runs in its own folder; leave it out.")
        with self._stores.programs.program(
            order.program, order.source, order.sha256, stop=_Until(limits), say=log.info
        ) as folder:
            command = ProcessCommand(
                argv=(RUN, *order.arguments),
                env=_environment(order, assignment),
                cwd=str(folder),
                allowance=assignment.policy.limits,
                kept=True,
            )
            command = self._stores.sandbox.around(command, writes=(str(folder),))
            exit_ = run_group(
                command,
                limits,
                echo=assignment.echo,
                whole=assignment.policy.keep_output,
                grace_s_max=self._stores.grace_s_max,
            )
        outcome = _with_stderr(of_command(exit_, assignment))
        return keep_whole(outcome, exit_, assignment, self._stores.blobs, log.warning)


class _Until:
    """Stop condition of a fetch: the timeout, which counts from the claim, or a stop by the worker."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def is_set(self) -> bool:
        return self._limits.reached() is not None


class _Order:
    """Program, source, digest and arguments of one job."""

    def __init__(self, texts: Mapping[str, str], arguments: tuple[str, ...]) -> None:
        self.program = texts["program"]
        self.source = texts["source"]
        self.sha256 = texts.get("sha256")
        self.arguments = arguments

    @classmethod
    def of(cls, program: Program, claimed: RunContext) -> "_Order":
        """Return the options of the app, with values filled in, and the submission's options for the rest.
        BadRequest if the combination is not valid.
        """
        stated = dict(program.stated)
        given = _given(stated, claimed)
        arguments = _WORD.findall(given.get("input", ""))
        texts = {"program": claimed.name.app, **given}
        values = values_of(claimed)
        try:
            texts |= {word: fill_braces(text, values) for word, text in stated.items()}
            # A value stays within its word, whatever characters it has.
            arguments += [fill_braces(word, values) for word in _WORD.findall(stated.get("input", ""))]
        except KeyError as missing:
            raise BadRequest(f"There is no value for {{{missing.args[0]}}}.") from None
        if "source" not in texts:
            raise BadRequest(f"{claimed.name.app} has no source, and neither has the submission.")
        if "sha256" in texts:
            try:
                texts["sha256"] = check_digest(texts["sha256"])
            except ValueError as error:
                raise BadRequest(f"sha256: {error}.") from None
        if any("\0" in argument for argument in arguments):
            raise BadRequest("input: it has a NUL, which cannot be passed as an argument.")
        return cls(texts, tuple(arguments))


def _with_stderr(outcome: Outcome) -> Outcome:
    """Add the complete stderr to the error, unless the error already quotes all of it."""
    written = outcome.stderr.strip()
    if not written or (outcome.error or "").endswith(f": {written}"):
        return outcome
    return replace(outcome, error=f"{outcome.error}\n{outcome.stderr}" if outcome.error else outcome.stderr)


def _given(stated: Mapping[str, str], claimed: RunContext) -> dict[str, str]:
    given: dict[str, str] = {}
    for word, value in claimed.kwargs.items():
        if word not in PROGRAM_WORDS:
            raise BadRequest(
                f"A program does not take the kwarg {word!r}; it takes {', '.join(PROGRAM_WORDS)}."
            )
        if word in stated:
            raise BadRequest(f"The kwarg {word!r} is fixed by {claimed.name.app}; leave it out.")
        if value is None and word == "sha256":
            continue
        if not isinstance(value, str):
            raise BadRequest(f"The kwarg {word!r} must be a text, and not {masked_value(value)!r}.")
        given[word] = value
    return given


def _environment(order: _Order, assignment: Assignment) -> dict[str, str]:
    """Return the environment of a command, and the program's name. The input is in no variable because it may be longer
    than a variable can be.
    """
    environment = command_environment(assignment, assignment.policy, os.environ)
    return {**environment, "SLUICE_PROGRAM": order.program}
