"""Names of interchangeable parts: a part registers itself where it is defined, everything else reads the registry."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from typing import Any


class Registry:
    """Parts of one kind by name; an unknown name gets an error that lists the known ones."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._parts: dict[str, Any] = {}

    def add(self, name: str, part: Any) -> None:
        """Register `part`; a name is given once."""
        if name in self._parts:
            raise ValueError(f"The {self.kind} {name!r} is registered already; choose another name.")
        self._parts[name] = part

    def __getitem__(self, name: str) -> Any:
        try:
            return self._parts[name]
        except (KeyError, TypeError):
            raise ValueError(f"Unknown {self.kind} {name!r}; choose one of {', '.join(self._parts)}.") from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and parts, in the order of registration."""
        return self._parts.items()


def import_parts(package: str, path: Iterable[str]) -> None:
    """Import every module of a package, so that each registers what it defines."""
    for module in sorted(found.name for found in pkgutil.iter_modules(path)):
        importlib.import_module(f"{package}.{module}")
