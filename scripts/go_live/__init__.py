"""A rehearsal of a schema change while a program writes: three versions of a schema, a writer and an oracle.

`python -m scripts.go_live` runs it with the commands that a user would give; `tests/e2e/test_go_live.py` is a small
one. docs/howto/migrate.md reports what it found.
"""
