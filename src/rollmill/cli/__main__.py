"""`python -m rollmill.cli`."""

from rollmill.cli import main

main()
