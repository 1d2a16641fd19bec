"""Alembic's environment and the migrations, each a frozen piece of SQL."""
