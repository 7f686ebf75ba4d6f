"""How a view is read: by names of its columns, and as the table that a run was fitted on."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np

from ._arrays import matrix


class Reading(NamedTuple):
    """How the columns of a view become those of a model.

    Attributes
    ----------
    names : ndarray of shape (n_columns,), or None
        Names of the columns, where they are known.
    scale : (ndarray, ndarray) or None
        What is taken off each column and what it is divided by; None: they stay as they are.
    made : str or None
        A column that is made into others, of words or dates: no array holds it.
    """

    names: Optional[np.ndarray] = None
    scale: Optional[tuple[np.ndarray, np.ndarray]] = None
    made: Optional[str] = None

    def check(self, command: str) -> None:
        """Fails where arrays cannot be read as what was fitted."""
        if self.made is not None:
            raise ValueError(
                f"the run was fitted on a table of whose column {self.made!r} it makes features; ask it by the command "
                f"`likewise {command}`"
            )

    def scaled(self, rows: np.ndarray, name: str = "X") -> np.ndarray:
        """Rows at the scale of the model."""
        if self.scale is None:
            return rows
        means, deviations = self.scale
        return matrix((rows.astype(np.float64) - means) / deviations, name)


def views_of(config: dict) -> list[str]:
    """The views that a run was fitted on, by its ``config.json``. What one encoder made is one view, whatever its name."""
    names = [] if len(config.get("encoder") or []) == 1 else config["view"].split("+")
    return names if len(names) > 1 and all(names) else [config["view"]]


def reading_of(config: dict, view: str) -> Reading:
    """How a run reads one of its views, by its ``config.json``."""
    names = (config.get("columns") or {}).get(view)
    if names is not None:
        return Reading(np.array(names, dtype=object))
    columns = (config.get("table") or {}).get("columns", [])
    # Those of a table are one view, whatever others stand beside them; an array has its own name.
    plain = all(of.keys() == {"name", "kind"} and of["kind"] == "number" for of in columns)
    if not columns or not (view == "features" or view == "x" and plain and len(columns) == config["dimensions"]):
        return Reading()
    made = next((of["name"] for of in columns if of["kind"] != "number" or "date" in of), None)
    if made is not None:
        return Reading(made=made)
    scales = [(of.get("mean", 0.0), of.get("deviation", 1.0)) for of in columns]
    means, deviations = np.array(scales, np.float64).T
    scale = (means, deviations) if (means != 0).any() or (deviations != 1).any() else None
    names = [of["name"] for of in columns]
    # Columns without names are counted.
    known = names != [str(number) for number in range(len(names))]
    return Reading(np.array(names, dtype=object) if known else None, scale)
