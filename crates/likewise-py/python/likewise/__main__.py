"""``python -m likewise`` is the command."""

from ._command import main

main()
