"""What scripts of experiments that run five draws share."""

import argparse
from pathlib import Path

import numpy as np

DRAWS = 5
T_FOUR = 2.776


def cell(values):
    """Mean and half of the 95 % interval over the draws, in percent."""
    values = 100 * np.array(values)
    half = T_FOUR * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():.1f} ±{half:.1f}"


def asked():
    """The program, the folder of data and the folder that is written."""
    parser = argparse.ArgumentParser()
    for name in ("program", "data", "out"):
        parser.add_argument(name, type=Path)
    return parser.parse_args()
