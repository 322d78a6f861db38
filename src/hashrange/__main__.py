"""`python -m hashrange` is `hashrange`."""

from hashrange.cli import main

main()
