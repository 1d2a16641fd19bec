"""The console: the page, and by HTTP what a message or a command does.

It owns who may ask (``gate``), which calls there are (``calls``, ``route``), what a request comes to (``answering``),
what is told as it happens (``streams``), the page's files (``files``) and the sockets (``server``). What holds: nothing
is asked of the ledger for somebody who may not ask; every answer but a file, a text and a stream is one JSON document,
an error as problem details (RFC 9457); a request is bounded in size and time, and there are no more at once than
places. It knows no SQL and no messages: whatever a call does, ``actors.client.Client`` does, and what it reads,
``ledger.reads``.
"""
