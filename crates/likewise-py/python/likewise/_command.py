"""The command ``likewise``."""

from __future__ import annotations

import sys

from ._likewise import command


def main() -> None:
    """Run the command line of this process."""
    sys.exit(command(["likewise", *sys.argv[1:]]))
