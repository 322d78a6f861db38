"""`python -m hashrange.cli` is `hashrange`."""

from hashrange.cli import main

main()
