"""Identity of the senders of requests.

- ``roles``: roles, and senders with a role
- ``token_file``: named tokens, and the roles of a proxy's users and groups, in a file
- ``sessions``: sessions in cookies
- ``proxy``: users that a trusted proxy has signed in
"""
