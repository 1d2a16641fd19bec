"""Names of messages, and descriptions of faults."""

import re
from collections.abc import Iterable

from sluice.broker.messages import (
    Cancel,
    Ended,
    Execute,
    Executed,
    Landed,
    Look,
    Message,
    Pause,
    Plan,
    Resume,
    Submit,
    SubmitMany,
    Tick,
)
from sluice.ledger.database.connection import Tx
from sluice.ops.simulation.faults import InjectedFault

_JOB = re.compile(r"#(\d+)")
_NAMES = "SELECT id, app || '/' || key FROM job WHERE id = ANY(%(ids)s)"


def name_of(message: Message, at_s: float) -> str:
    """Return the name of a message. A message that is sent again has the same name. ``Tick`` and ``Look`` recur all
    the time, so their names contain the time.
    """
    match message:
        case Plan(submissions=ids):
            name = f"the word to plan {', '.join(ids)}"
        case Execute(jobs=turns):
            name = "the notification to run " + ", ".join(
                f"#{turn.job} in round {turn.round}" for turn in turns
            )
        case Executed(jobs=jobs):
            name = f"the news that {_told(jobs)} ran"
        case Ended(jobs=jobs):
            name = f"the news that {_told(jobs)} ended"
        case Tick() | Look():
            name = f"the {message.actor} at {at_s:.0f} s"
        case _:
            name = _named_news(message)
    return name


def words_of(tx: Tx, happened: Iterable[tuple[float, InjectedFault, str]]) -> list[str]:
    """Return each fault as a line, with the names of the jobs."""
    lines = [_line(*each) for each in happened]
    ids = sorted({int(number) for line in lines for number in _JOB.findall(line)})
    names: dict[int, str] = dict(tx.rows(_NAMES, ids=ids))
    return [_JOB.sub(lambda found: names.get(int(found[1]), found[0]), line) for line in lines]


def _line(at_s: float, fault: InjectedFault, said: str) -> str:
    again = f" (time {fault.place + 1})" if fault.place else ""
    return f"{at_s:9.3f} s  {fault.whom}{again} {fault.kind}{' ' + said if said else ''}"


def _named_news(message: Message) -> str:
    match message:
        case Submit(id=id_) | SubmitMany(id=id_):
            return f"the submission {id_}"
        case Cancel(submission=submission, app=app, key=key):
            return f"the call to cancel {submission or f'{app}/{key}'}"
        case Pause(submission=submission):
            return f"the call to pause {submission}"
        case Resume(submission=submission, app=app, key=key, id=id_):
            return f"the call to resume {submission or f'{app}/{key}'} {id_ or ''}".rstrip()
        case Landed(table=table, partitions=partitions):
            return f"the landing of {table} {', '.join(partitions)}"
    return message.actor


def _told(jobs: Iterable[int]) -> str:
    return ", ".join(f"#{job}" for job in jobs)
