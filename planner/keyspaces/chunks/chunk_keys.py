"""Keys of chunks. A submission for work IDs creates them. Afterwards an existing chunk can be named by its key, but a
key cannot create a chunk."""

from collections.abc import Iterator

from sluice.jobs.errors import BadKey, BadRequest
from sluice.jobs.model.app import App
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import Submission
from sluice.planner.keyspaces.protocol import SituationalKeyspace

_FOREIGN = ("start", "end", "by", "mode", "branch")


class ChunkKeyspace(SituationalKeyspace):
    """Keyspace of chunks. Existing chunks are recorded only in the ledger, so every key is accepted as it is."""

    def canonical(self, app: App, key: str) -> str:
        return key

    def expand(self, app: App, submission: Submission) -> Iterator[str]:
        require_chunk_words(app, submission)
        return iter(dict.fromkeys(submission.named_keys or ()))


def is_by_chunk(app: App, submission: Submission) -> bool:
    """Return whether the submission is about work IDs, and not about existing chunks."""
    return app.chunking is not None and submission.named_keys is None


def require_chunk_words(app: App, submission: Submission) -> None:
    """Raise BadRequest if the submission uses options of other keyspaces."""
    if foreign := submission.words_of(_FOREIGN):
        raise BadRequest(
            f"{app.name} is keyed by chunk; {' and '.join(foreign)} do not name work IDs.",
            where=app.name,
            advice="Give work_ids, or leave them out to use the work IDs that its select_work chooses.",
        )


def no_such_chunk(name: JobName) -> BadKey:
    return BadKey(
        f"There is no chunk {name}.",
        where=name.app,
        advice="Submit work IDs, like --work-ids 1-3,7: chunks are created from them.",
    )


def was_split(name: JobName) -> BadRequest:
    return BadRequest(
        f"{name} was split, and its halves run in its place.",
        where=name.app,
        advice="Submit the halves; `sluice show` names them.",
    )
