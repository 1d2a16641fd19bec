"""``sluice run --bypass``: run the code of a job directly, to try out an app or to repair a job by hand.

Nothing else takes part: no ledger, no broker, and no parents. A key must fit the template of its app. For other apps it
is the work IDs of a chunk, or partitions.

``valid_if_or``, dependencies, retries, priorities and times are ignored. The kwargs apply. Of the policy, only the
options for the run itself apply: ``timeout``, ``env``, ``env_from_os``, ``cwd``, ``fail_on``, ``limits``,
``keep_output``. The debug options of a saga apply too.

The job has its usual token, so that external systems treat it as the same job. Its claim is 0, which is lower than any
claim in the ledger.

The journal of a saga is kept in memory, and its flight runs here until it has ended (``fly``). Nothing of the flight
outlives the command, so it is not left half done. If it would wait or is interrupted, it is undone.
"""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Event, Thread
from typing import NoReturn, TextIO

from msgspec.structs import replace

from sluice.actors.assembly import stores
from sluice.actors.executor.assignments import assign
from sluice.jobs.catalogue import parse_policy
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.work_ids import WorkId, parse_work_ids, text_of
from sluice.jobs.model.app import App
from sluice.jobs.model.job import Assignment, Echo, Ending, Outcome, idempotency_token, keep
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.jobs.runners import runner_for
from sluice.jobs.runners.resources import Stores
from sluice.jobs.runners.run_output import captured_runs
from sluice.jobs.sagas.journal import Direction, Journal, MemoryJournal
from sluice.jobs.text.redaction import masked_value
from sluice.ledger.lifecycle.claims import ClaimedJob
from sluice.ops.cli.command import DONE, FAILED, INTERRUPTED, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.local_worker import HEARD_WITHIN_S
from sluice.ops.cli.page import Block, Paragraph, Verbatim
from sluice.ops.cli.submission_options import submission_of
from sluice.ops.text import first_line, span
from sluice.planner.keyspaces.partitions.partition_keys import app_of_key, canonical_key, key_of, read_key

#: Seconds that an interrupted job has to end by itself. Processes of a job are killed before that.
GRACE_S = 5.0
#: Example of work IDs, which take the place of a key for an app keyed by chunk.
WORK_IDS = "1-3,7"
#: Options that only the planner can use. There is no planner here.
_OF_THE_PLANNER = ("work_ids", "start", "end", "by", "id", "mode", "branch", "rerun", "wait_timeout")


def bypass(context: CommandContext, options: Options) -> int:
    """Run the keys one after another. If a key is interrupted, the keys after it are not started."""
    assignments = list(_assignments(context, options))
    stop, used = Event(), stores(context.settings)
    ended: list[tuple[JobName, Outcome]] = []
    for assignment in assignments:
        if not stop.is_set():
            with captured_runs(passes_on=True):
                outcome = _run(assignment, stop, used)
            ended.append((assignment.name, outcome))
            context.output.note(*_told(assignment.name, outcome, in_full=not context.output.is_document))
    context.output.answer({"jobs": [_document(name, outcome) for name, outcome in ended]})
    if stop.is_set():
        return INTERRUPTED
    return DONE if all(outcome.ending is Ending.DONE for _, outcome in ended) else FAILED


def _assignments(context: CommandContext, options: Options) -> Iterator[Assignment]:
    """Yield the runs. BadRequest if any is impossible. No key has been run by then."""
    useless = [
        f"--{word.replace('_', '-')}" for word in _OF_THE_PLANNER if getattr(options, word) is not None
    ]
    if useless:
        raise BadRequest(
            f"--bypass does not support {', '.join(useless)}.", advice="Name the keys to run instead."
        )
    submission = submission_of(options)
    app = context.catalogue.app(submission.app)
    if submission.named_keys is None:
        raise BadRequest(
            "--bypass runs only named keys, and no key was named.",
            where=app.name,
            advice=f"Write one, like sluice run --bypass {app.name} {WORK_IDS if app.chunking else app.example_key}",
        )
    echo = Echo() if context.output.is_document else _echo()
    for key in submission.named_keys:
        yield _assignment(app, key, submission, echo)


def _assignment(app: App, key: str, submission: Submission, echo: Echo) -> Assignment:
    if app.partitioning:
        return assign(app, _as_if_claimed(app, key, submission), echo)
    ids, work_ids = ({}, _work_ids(app, key)) if app.chunking else (app.read_key(key), None)
    name = JobName(app.name, app.write_key(ids) if work_ids is None else text_of(work_ids))
    return Assignment(
        name=name,
        ids=ids,
        work_ids=work_ids,
        kwargs=submission.kwargs,
        round=0,
        claim=0,
        token=idempotency_token(name.app, "", name.key),
        app=app,
        policy=app.policy.overridden(parse_policy(submission.policy)),
        echo=echo,
    )


def _as_if_claimed(app: App, key: str, submission: Submission) -> ClaimedJob:
    """Return an assignment as if it were claimed. The partitions follow from the key. All of them are made, even if
    they exist.
    """
    found = app_of_key(app, canonical_key(app, key))
    span = read_key(found, key)
    return ClaimedJob(
        id=0,
        app=app.name,
        key=key_of(found, span),
        round=0,
        claim=0,
        kwargs=submission.kwargs,
        overrides=submission.policy,
        timeout_s=None,
        handle=None,
        partitions=[*range(span.first, span.last + 1)],
    )


def _work_ids(app: App, key: str) -> tuple[WorkId, ...]:
    """Parse the key as work IDs. Elsewhere the key of a chunk is generated. Here it lists the work IDs of the chunk."""
    try:
        return parse_work_ids(key)
    except ValueError as error:
        raise BadRequest(
            f"{app.name} runs on work IDs: {error}.", advice=f"Write them like {WORK_IDS}"
        ) from None


def _echo() -> Echo:
    """Return an echo that shows the output of the job while it runs. The output contains the job's log lines, so the
    logger does not repeat them.
    """
    logging.getLogger("sluice.job").setLevel(logging.CRITICAL)
    return Echo(_writer(sys.stdout), _writer(sys.stderr))


def _writer(stream: TextIO) -> Callable[[bytes], object]:
    def write(chunk: bytes) -> None:
        stream.flush()
        stream.buffer.write(chunk)
        stream.buffer.flush()

    return write


def _run(assignment: Assignment, stop: Event, used: Stores) -> Outcome:
    """Run the job in a thread, as a worker does. The main thread can then receive an interrupt and stop the job."""
    began = time.monotonic()
    ended: Future[Outcome] = Future()
    work = Thread(target=lambda: _settle(ended, assignment, stop, used), daemon=True)
    try:
        work.start()  # The job may have run for a while when this returns.
        while work.is_alive():
            work.join(HEARD_WITHIN_S)
        outcome = ended.result()
    except KeyboardInterrupt:
        stop.set()
        outcome = _within_the_grace(ended)
    return replace(outcome, took_s=time.monotonic() - began)


def _settle(ended: Future[Outcome], assignment: Assignment, stop: Event, used: Stores) -> None:
    runner = runner_for(assignment.app, used)

    def run(journal: Journal | None, stop: Event) -> Outcome:
        return runner.run(
            assignment,
            stop=stop,
            report=_unheard,
            transaction=_no_transaction,
            acknowledge=_unkept if assignment.partitions else None,
            journal=journal,
        )

    try:
        outcome = fly(run, stop) if assignment.app.saga else run(None, stop)
    except BaseException as error:
        # The cause is a closed output pipe or a defect of Sluice. The command reports both.
        ended.set_exception(error)
    else:
        ended.set_result(outcome)


def _within_the_grace(ended: Future[Outcome]) -> Outcome:
    try:
        return ended.result(GRACE_S)
    except TimeoutError:
        return Outcome(
            ending=Ending.HANDED_BACK,
            error="The job did not stop within the grace time; it ends with this command.",
        )


def _unheard(done: int, total: int | None) -> None:
    """Ignore the progress."""


def _unkept(partition: str) -> None:
    """Ignore a finished partition, because no ledger records it."""


def _no_transaction(_: object) -> NoReturn:
    raise BadRequest(
        "job.transaction() needs the ledger, and --bypass runs without one.", advice="Leave --bypass out."
    )


def _told(name: JobName, outcome: Outcome, *, in_full: bool) -> Iterator[Block]:
    """Yield the outcome as text. The error has its traceback for the author of the app, unless the JSON document has
    it.
    """
    is_done = outcome.ending is Ending.DONE
    ending = str(outcome.ending).replace("_", " ")
    yield Paragraph(f"{name}: {ending} in {span(outcome.took_s)}", "green" if is_done else "red")
    if outcome.error and not is_done:
        yield Verbatim(outcome.error.rstrip("\n") if in_full else first_line(outcome.error), "red")


def _document(name: JobName, outcome: Outcome) -> dict[str, object]:
    return {
        "app": name.app,
        "key": name.key,
        "ending": outcome.ending,
        "exit_code": outcome.exit_code,
        "error": outcome.error,
        "took_s": outcome.took_s,
        "result": masked_value(outcome.result),
        "output": outcome.output,
        "output_blob": outcome.output_blob,
        "stderr_blob": outcome.stderr_blob,
        "log": outcome.log,
    }


#: Function that runs the flight once, until it ends or the event is set.
Run = Callable[[MemoryJournal, Event], Outcome]


def fly(run: Run, stop: Event) -> Outcome:
    """Run the flight again as long as the run hands it back or suspends it."""
    journal, output = MemoryJournal(), ""
    while True:
        outcome = run(journal, stop)
        output = keep(output + outcome.output)
        if outcome.ending is Ending.SUSPENDED:
            _end_wait(journal, outcome)
        elif outcome.ending is not Ending.HANDED_BACK:
            return replace(outcome, output=output)
        elif stop.is_set():
            journal.abort_reason, stop = "it was interrupted", Event()


def _end_wait(journal: MemoryJournal, outcome: Outcome) -> None:
    if journal.entries[-1].direction is Direction.UNDO:
        # The flight is being undone already and must complete, so it gets the event.
        journal.tell(outcome.event)
        return
    what = outcome.event or "a resume command"
    journal.abort_reason = f"it waits for {what}, which --bypass cannot deliver"
