"""Values of a line of a set file, checked one by one: a file may come from anybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NoReturn

from django.utils import timezone

from knowledge.set_file_errors import SetFileInvalidError

MAX_NUMBER = 2**31 - 1
MAX_ID = 2**63 - 1
MAX_TEXT = 512 * 1024 * 1024  # characters of a parsed text
MAX_ROWS = 1_000_000  # passages, entries or edits of a document


@dataclass(frozen=True, slots=True)
class Values:
    """One JSON object. Every method raises SetFileInvalidError with part, line and field of a value that it refuses."""

    of: Mapping[str, Any]
    part: str
    line: int
    within: str = ""

    def refuse(self, name: str) -> NoReturn:
        raise SetFileInvalidError("content", part=self.part, line=self.line, field=f"{self.within}{name}")

    def text(self, name: str, most: int = MAX_TEXT, *, choices: tuple[str, ...] = ()) -> str:
        value = self.of.get(name, "")
        if not isinstance(value, str) or len(value) > most or (choices and value not in choices):
            self.refuse(name)
        return value

    def number(self, name: str, least: int = 0, most: int = MAX_NUMBER) -> int:
        value = self.of.get(name)
        if type(value) is not int or not least <= value <= most:
            self.refuse(name)
        return value

    def number_or_none(self, name: str, least: int = 0, most: int = MAX_NUMBER) -> int | None:
        return None if self.of.get(name) is None else self.number(name, least, most)

    def real(self, name: str, least: float, most: float) -> float:
        value = self.of.get(name)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not least <= value <= most:
            self.refuse(name)  # also where it is no number: NaN is between nothing
        return float(value)

    def flag(self, name: str) -> bool:
        value = self.of.get(name, False)
        if not isinstance(value, bool):
            self.refuse(name)
        return value

    def texts(self, name: str, each: int, most: int = MAX_ROWS) -> list[str]:
        value = self.of.get(name, [])
        if (
            not isinstance(value, list)
            or len(value) > most
            or not all(isinstance(entry, str) and len(entry) <= each for entry in value)
        ):
            self.refuse(name)
        return value

    def mapping(self, name: str) -> dict[str, Any]:
        value = self.of.get(name, {})
        if not isinstance(value, dict):
            self.refuse(name)
        return value

    def below(self, name: str) -> Values:
        """An object within this one."""
        return Values(self.mapping(name), self.part, self.line, f"{self.within}{name}.")

    def rows(self, name: str) -> list[Values]:
        """Objects within this one."""
        value = self.of.get(name, [])
        if not isinstance(value, list) or len(value) > MAX_ROWS or not all(isinstance(entry, dict) for entry in value):
            self.refuse(name)
        return [Values(entry, self.part, self.line, f"{self.within}{name}.") for entry in value]

    def lists(self, name: str, length: int) -> list[list[Any]]:
        """Lists of this length within this one."""
        value = self.of.get(name, [])
        if (
            not isinstance(value, list)
            or len(value) > MAX_ROWS
            or not all(isinstance(entry, list) and len(entry) == length for entry in value)
        ):
            self.refuse(name)
        return value

    def day(self, name: str) -> date | None:
        value = self.of.get(name)
        if value is None:
            return None
        try:
            return date.fromisoformat(value)
        except (TypeError, ValueError):
            self.refuse(name)

    def time(self, name: str) -> datetime | None:
        value = self.of.get(name)
        if value is None:
            return None
        try:
            moment = datetime.fromisoformat(value)
        except (TypeError, ValueError):
            self.refuse(name)
        return moment if timezone.is_aware(moment) else timezone.make_aware(moment)


def values_of(value: Any, part: str, line: int) -> Values:
    """Of a line. Raises SetFileInvalidError where it is no object."""
    if not isinstance(value, dict):
        raise SetFileInvalidError("content", part=part, line=line, field="{}")
    return Values(value, part, line)
