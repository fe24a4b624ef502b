"""The port of connectors: one class for each kind of place where knowledge lives."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from knowledge.connectors.items import Item, Listed, UnreadableItem
from knowledge.types import strictly
from ragcore.errors import UrlUnreachableError
from ragcore.fetching import AddressPolicy, system_resolve
from ragcore.fetching.addresses import permitted_addresses

EXAMPLES = 10
_KINDS: dict[str, type[Connector]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a connector may reach, and what it is told in confidence.

    `folder_allowed`: a folder by its path, raises FolderNotAllowedError; `workspace`: a folder of the source, which may
    be removed between runs; `secrets`: its credentials by field.
    """

    policy: AddressPolicy
    folder_allowed: Callable[[str], Path]
    workspace: Path
    secrets: Mapping[str, str]
    pace: Callable[[], None] = lambda: None  # call it before each request: it waits where the source has a rate

    def host_check(self, host: str, port: int) -> None:
        """Whether a connection may be made. Raises UrlNotAllowedError, UrlUnreachableError for an unknown host."""
        permitted_addresses(host, port, allow=self.policy, resolve=system_resolve)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingField:
    """A setting as a form shows it. `kind`: "text", "text_area", "lines", "switch", "number"."""

    name: str
    label: Any
    help_text: Any = ""
    kind: str = "text"
    is_required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a source would bring in now. `is_complete`: False where the list was cut short, or hides items."""

    count: int
    examples: tuple[str, ...]  # ids of the first items
    unreadable: tuple[str, ...]  # ids of the first items that cannot be fetched
    is_complete: bool
    is_cut: bool = False  # there may be more than were counted
    goes_on: bool = False  # a job goes on counting


class Connector(ABC):
    """Lists one source and reads its items. Made anew for each run.

    A subclass names `kind` (as Source.kind), `label`, `summary` (what it brings in, in a line), what its location is,
    `settings_type` (a checked dataclass), how the settings are shown, and the sets of credentials that it takes.
    """

    kind: ClassVar[str]
    label: ClassVar[Any]
    summary: ClassVar[Any] = ""
    location_help: ClassVar[Any] = ""
    settings_type: ClassVar[type]
    setting_fields: ClassVar[tuple[SettingField, ...]] = ()
    credential_fields: ClassVar[tuple[frozenset[str], ...]] = ()
    paces_itself: ClassVar[bool] = False  # it calls `access.pace` before each request; else each reading is one

    def __init__(self, *, location: str, settings: Mapping[str, Any], access: Access) -> None:
        self.location, self.access = location.strip(), access
        self.settings: Any = strictly(self.settings_type, settings)

    @classmethod
    @abstractmethod
    def host_of(cls, location: str) -> tuple[str, int] | None:
        """The host and port that it connects to; None for a folder of this machine. Raises ConnectorError."""

    @abstractmethod
    def changes(self, cursor: Mapping[str, Any]) -> Iterator[Listed]:
        """What has changed since `cursor`, {} for all; a ListEnd comes last, where the list is complete.

        Raises ConnectorError, UrlNotAllowedError, UrlUnreachableError, FolderNotAllowedError.
        """

    def sign_in(self) -> None:
        """Connect, and sign in where the source wants it; nothing is listed. By default the list will tell.

        Raises ConnectorError("credentials"), SourceUnreachableError, UrlNotAllowedError, UrlUnreachableError.
        """
        return

    def is_slow_to_list(self) -> bool:
        """Whether the first item may come only after minutes, so that nobody waits for it in front of a page."""
        return False

    @classmethod  # noqa: B027 (most types say all)
    def settings_check(cls, settings: Any) -> None:
        """What the type of the settings cannot say, before they are stored. Raises a RagError with what is wrong."""

    def allowed(self) -> None:
        """Raises UrlNotAllowedError or FolderNotAllowedError where the location may not be read."""
        if (host := self.host_of(self.location)) is None:
            self.access.folder_allowed(self.location)
            return
        try:
            self.access.host_check(*host)
        except UrlUnreachableError:  # the name may be known by the time it is read; then it is checked again
            return


def preview_of(listed_items: Iterable[Listed], *, most: int, seconds: float) -> Preview:
    """The first items, and how many there are: at most `most`, or as many as are listed in this time."""
    count, examples, unreadable, is_whole, is_cut = 0, list[str](), list[str](), True, False
    end = time.monotonic() + seconds
    for place, listed in enumerate(listed_items):
        if place >= most or time.monotonic() > end:
            is_cut = True
            break
        if isinstance(listed, UnreadableItem):
            is_whole &= not listed.hides
            unreadable += [listed.path] if len(unreadable) < EXAMPLES else []
        elif isinstance(listed, Item):
            count += 1
            examples += [listed.external_id] if len(examples) < EXAMPLES else []
    return Preview(
        count=count,
        examples=tuple(examples),
        unreadable=tuple(unreadable),
        is_complete=is_whole and not is_cut,
        is_cut=is_cut,
    )


def settings_checked(kind: type[Connector], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a source without what is as by default. Raises InvalidOptionsError, and as settings_check."""
    typed: Any = strictly(kind.settings_type, settings)
    kind.settings_check(typed)
    values = {entry.name: getattr(typed, entry.name) for entry in fields(kind.settings_type)}
    usual = kind.settings_type()
    changed = {name: value for name, value in values.items() if value != getattr(usual, name)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in changed.items()}


def connector(kind: type[Connector]) -> type[Connector]:
    """Register a kind of connector."""
    if kind.kind in _KINDS:
        raise ValueError(f"two connectors of the kind {kind.kind}")
    _KINDS[kind.kind] = kind
    return kind


def connector_kinds() -> Mapping[str, type[Connector]]:
    """Every kind by its name."""
    return _KINDS
