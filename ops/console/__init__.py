"""The console: the page, and the HTTP API with the same operations as messages and commands.

- ``access``, ``identity``: senders of requests, their roles and sessions
- ``tenancy``: the decision of each call about senders of one tenant
- ``calls``, ``route``: the calls
- ``dispatch``: from a request to its call and answer
- ``streams``: changes as server-sent events
- ``files``: the files of the page
- ``server``: the sockets

Nothing is read from the ledger for a client without access. Every answer except a file, a text and a stream is one
JSON document; an error is problem details (RFC 9457). A request is bounded in size and time. The number of places
limits the requests that are answered at the same time.

The package contains no SQL and no messages: calls act through ``actors.client.Client`` and read through
``ledger.reads``.
"""
