"""Registries of kinds: a kind is one class in one file of a folder that each app may have."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Generic, TypeVar

from django.apps import apps

from work.errors import UnknownKindError

KindT = TypeVar("KindT")
ClassT = TypeVar("ClassT", bound="type[Any]")


class KindRegistry(Generic[KindT]):
    """The kinds in the folder `folder` of all apps, one object of each class, by `name`; loaded once a process.

    `what`: they are kinds of it, for the error of whoever writes two of a name.
    """

    def __init__(self, folder: str, *, what: str) -> None:
        self.by_name: dict[str, KindT] = {}
        self._folder = folder
        self._what = what
        self._is_loaded = False

    def register(self, kind: ClassT) -> ClassT:
        """Decorator of a class. Raises ValueError where another class has the name."""
        other = self.by_name.setdefault(kind.name, kind())
        if type(other).__qualname__ != kind.__qualname__:
            raise ValueError(f"two kinds of {self._what} are called {kind.name}")
        return kind

    def get(self, name: str) -> KindT:
        """The kind of this name. Raises UnknownKindError."""
        self.load()
        try:
            return self.by_name[name]
        except KeyError:
            raise UnknownKindError(kind=name) from None

    def all(self) -> list[KindT]:
        """All kinds, by name."""
        self.load()
        return [self.by_name[name] for name in sorted(self.by_name)]

    def load(self) -> None:
        """Import every module of the folder of each app that has one."""
        if self._is_loaded:
            return
        for app in apps.get_app_configs():
            spec = find_spec(f"{app.name}.{self._folder}")
            folders = spec.submodule_search_locations if spec is not None else None
            for module in pkgutil.iter_modules(folders or ()):
                import_module(f"{app.name}.{self._folder}.{module.name}")
        self._is_loaded = True
