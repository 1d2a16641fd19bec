"""Messages as JSON in dramatiq's envelope, so that any language can publish them. Pickle is never used.

The envelope's ``kwargs`` are a message's fields, kept as raw JSON until the message's own type is known. Input from
outside is checked here once: size, shape, actor, fields. Options from outside are dropped, except the id under which
Redis keeps the message: a publisher must not be able to ask for retries, callbacks or delays. If there are keys, a
message that is not signed with one is refused unread (``signing``).
"""

import uuid
from typing import Annotated, Any, NamedTuple

import msgspec
from dramatiq import DecodeError, Encoder
from dramatiq import Message as Envelope
from msgspec import Meta, Raw, Struct
from msgspec.structs import replace

from sluice.broker.messages import MESSAGES, ExternalRequest, Message, Resume, Submit, SubmitMany
from sluice.broker.signing import NO_KEYS, Keyring
from sluice.jobs.errors import BadMessage
from sluice.jobs.model.request_limits import DEPTH_MAX, ID_LENGTH_MAX, MESSAGE_DEPTH_MAX, NUL, is_deeper

#: Maximum bytes of a body: 4 MiB, enough for a submission of 100,000 keys. A larger body is refused before it is
#: parsed.
MESSAGE_BYTES_MAX = 4 * 1024 * 1024

_KINDS: dict[str, type[Message]] = {kind.actor: kind for kind in MESSAGES}


class Letter(NamedTuple):
    """A message ready to be sent."""

    queue: str
    id: str
    body: bytes
    news: bool


class JsonEncoder(Encoder):
    """Encoder for dramatiq. ``decode`` returns the seven fields of an envelope and nothing else."""

    def __init__(self, keys: Keyring = NO_KEYS) -> None:
        self._keys = keys

    def encode(self, data: dict[str, Any]) -> bytes:
        return self._keys.sign(msgspec.json.encode(data))

    def signer(self, body: bytes) -> str | None:
        """Return the id of the key that has signed a decoded body. None without keys."""
        return self._keys.signer(body)

    def decode(self, data: bytes) -> dict[str, Any]:
        if len(data) > MESSAGE_BYTES_MAX:
            raise DecodeError(oversize(len(data)), b"", None)
        try:
            data = self._keys.open(data)
        except BadMessage as error:
            raise DecodeError(error.what, b"", error) from None
        if is_deeper(data, MESSAGE_DEPTH_MAX):
            raise DecodeError(f"it nests deeper than {MESSAGE_DEPTH_MAX} levels", b"", None)
        try:
            data.decode()  # Raw fields would let broken UTF-8 pass.
            fields = _ENVELOPE.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            why = f"its envelope cannot be read: {error}"
            raise DecodeError(why, b"", error) from None
        redis_id = fields.options and fields.options.redis_message_id
        return {
            "queue_name": fields.queue_name,
            "actor_name": fields.actor_name,
            "args": fields.args,
            "kwargs": fields.kwargs,
            "options": {"redis_message_id": redis_id} if redis_id else {},
            "message_id": fields.message_id,
            "message_timestamp": int(fields.message_timestamp),
        }


#: Encoder that neither signs nor requires signatures.
PLAIN = JsonEncoder()


def oversize(size: int) -> str:
    return f"it has {size} bytes, the limit is {MESSAGE_BYTES_MAX}"


def encode(message: Message, *, options: dict[str, str] | None = None) -> Envelope[Any]:
    """Return the envelope of a message. The id of a submit message becomes the envelope's own."""
    message_id, kwargs = str(uuid.uuid4()), msgspec.structs.asdict(message)
    if isinstance(message, Submit | SubmitMany):
        message_id = kwargs.pop("id") or message_id
    if isinstance(message, ExternalRequest):
        kwargs.pop("signed_by")
    if isinstance(message, Resume) and message.id is None:
        kwargs.pop("id")
    if isinstance(message, Submit):
        kwargs = _words(message.submission)
    return Envelope(
        queue_name=message.queue,
        actor_name=message.actor,
        args=(),
        kwargs=kwargs,
        options=dict(options or {}),
        message_id=message_id,
    )


def seal(message: Message, encoder: Encoder = PLAIN, *, options: dict[str, str] | None = None) -> Letter:
    """Return a message as bytes. BadMessage if it is larger than its receiver would accept."""
    envelope = encode(message, options=options)
    body = encoder.encode(envelope.asdict())
    if len(body) > MESSAGE_BYTES_MAX:
        raise BadMessage(
            f"A {message.actor} message cannot be sent: {oversize(len(body))}.",
            advice="Split it into several messages, or give a range instead of every key.",
        )
    return Letter(envelope.queue_name, envelope.message_id, body, message.news)


def unseal(queue: str, body: bytes, encoder: JsonEncoder = PLAIN) -> tuple[Envelope[Any], Message]:
    """Return the envelope and the message of a body from ``queue``. BadMessage, in one line, if no retry can make it
    readable.

    The envelope's own ``queue_name`` is the sender's claim and is replaced, because dramatiq settles by it.
    """
    try:
        envelope: Envelope[Any] = Envelope(**{**encoder.decode(body), "queue_name": queue})
    except DecodeError as error:
        raise BadMessage(str(error)) from None
    message = decode(envelope)
    if message.queue != queue:
        raise BadMessage(f"a message {message.actor!r} with this content belongs on queue {message.queue!r}")
    if isinstance(message, ExternalRequest):
        message = replace(message, signed_by=encoder.signer(body))
    return envelope, message


def decode(envelope: Envelope[Any]) -> Message:
    """Return the message in an envelope. BadMessage names its fault."""
    kind = _KINDS.get(envelope.actor_name)
    if kind is None:
        raise BadMessage(f"no actor is called {envelope.actor_name!r}")
    if envelope.args:
        raise BadMessage(f"{kind.actor!r} takes keyword arguments only")
    try:
        return _read(kind, envelope)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadMessage(f"its kwargs do not fit {kind.actor!r}: {error}") from None


def id_of(body: bytes) -> str | None:
    """Return the id for the log, of a message that may be unreadable otherwise. The sender may have made it up."""
    try:
        return _ID.decode(NO_KEYS.open(body)).message_id
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _read(kind: type[Message], envelope: Envelope[Any]) -> Message:
    fields = msgspec.json.encode(envelope.kwargs)
    if kind is Submit:
        return Submit(submission=Raw(fields), id=envelope.message_id)
    if kind is SubmitMany:
        many = msgspec.json.decode(fields, type=_Many)
        return SubmitMany(submissions=many.submissions, id=envelope.message_id)
    if is_deeper(fields, DEPTH_MAX):
        raise BadMessage(f"its kwargs nest deeper than {DEPTH_MAX} levels")
    if NUL in fields:
        # A submission is refused in the ledger, where its sender can see it. Other messages are not kept there.
        raise BadMessage(f"its kwargs contain a NUL character, which is not allowed in {kind.actor!r}")
    if "signed_by" in envelope.kwargs:
        raise BadMessage(f"its kwargs do not fit {kind.actor!r}: Object contains unknown field `signed_by`")
    message = msgspec.json.decode(fields, type=kind)
    if isinstance(message, Resume) and message.id is None:
        return replace(message, id=envelope.message_id)
    return message


def _words(submission: Raw) -> dict[str, Raw]:
    try:
        return msgspec.json.decode(submission, type=dict[str, Raw])
    except msgspec.DecodeError as error:
        raise BadMessage(f"A submission must be a JSON object: {error}.") from None


class _Options(Struct):
    redis_message_id: str | None = None


class _Fields(Struct):
    """An envelope as received. Only a field with an obvious default may be missing."""

    queue_name: str
    actor_name: str
    kwargs: dict[str, Raw]
    message_id: Annotated[str, Meta(min_length=1, max_length=ID_LENGTH_MAX, pattern=r"^[^\x00]*$")]
    args: tuple[Raw, ...] = ()
    options: _Options | None = None
    message_timestamp: float = 0


class _Many(Struct, forbid_unknown_fields=True):
    submissions: tuple[Raw, ...]


class _Id(Struct):
    message_id: Annotated[str, Meta(min_length=1, max_length=ID_LENGTH_MAX)]


_ENVELOPE = msgspec.json.Decoder(_Fields)
_ID = msgspec.json.Decoder(_Id)
