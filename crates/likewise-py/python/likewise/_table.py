"""How a run reads a table, by its ``config.json``."""

from __future__ import annotations

from typing import Any, Optional

SCALES = {"mean", "deviation"}


def columns_of(config: dict) -> list[dict[str, Any]]:
    """The columns that became features; none of what was no table."""
    return (config.get("table") or {}).get("columns", [])


def first_made(columns: list[dict[str, Any]], *, scaled: bool) -> Optional[str]:
    """The first column that is more than a number: of words or dates, and with `scaled` one that is brought to a scale."""
    more = {"date", *(SCALES if scaled else ())}
    made = (of["name"] for of in columns if of["kind"] != "number" or more & of.keys())
    return next(made, None)
