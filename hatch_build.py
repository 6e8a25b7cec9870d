"""Puts the built page into every wheel and source distribution."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PageHook(BuildHookInterface[Any]):
    """Builds the page first, unless the package is installed editable: then scripts/build-page does."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page if its sources changed."""
        if version == "editable":
            return
        script = Path(self.root) / "scripts" / "page_build.py"
        spec = importlib.util.spec_from_file_location("page_build", script)
        if spec is None or spec.loader is None:
            raise RuntimeError(f"{script} cannot be loaded")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        module.build()
