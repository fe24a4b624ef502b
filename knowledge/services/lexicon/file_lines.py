"""Lines of a lexicon file as changes of terms, in memory: what is stored, with a few statements, comes after."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from accounts.errors import NameTakenError
from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import LexiconTerm
from knowledge.services.lexicon.tables import Entry
from knowledge.services.lexicon.terms import MOST_TERMS, checked_values, stored_values, term_key

MOST_FAULTS = 100  # that are kept with their message
Name = tuple[str, str]  # key and long form: what only one term of a lexicon has


@dataclass(frozen=True, slots=True, kw_only=True)
class LineFault:
    """A line that was not taken; the first line of the file is 1."""

    line: int
    error: LexiconTermError | NameTakenError


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChange:
    """What one line does to a term; `before` is None where it adds it."""

    line: int
    term: LexiconTerm
    before: dict[str, Any] | None
    after: dict[str, Any]


@dataclass(slots=True)
class FileLines:
    """The terms of a lexicon while a file is read: later lines meet what earlier ones have made of them.

    `hidden`: names of terms that the asker may not see. `make` gives a new term of the lexicon, without values.
    """

    known: dict[Name, LexiconTerm]
    hidden: Collection[Name]
    make: Callable[[], LexiconTerm]
    changes: list[LineChange] = field(default_factory=list)
    faults: list[LineFault] = field(default_factory=list)  # the first ones
    fault_count: int = 0
    same: int = 0
    _by_key: dict[str, list[LexiconTerm]] = field(init=False, default_factory=dict)
    _names: dict[Name, LexiconTerm | None] = field(init=False)  # None: of a term that the asker may not see

    def __post_init__(self) -> None:
        self._names = {**self.known, **dict.fromkeys(self.hidden)}
        for term in self.known.values():
            self._by_key.setdefault(term.key, []).append(term)

    def take(self, line: int, entry: Entry, *, status: str) -> None:
        """Change the term of a line, add it with this status if the line has none, or note the fault."""
        try:
            if isinstance(entry, LexiconTermError):
                raise entry
            self._take(line, entry, status)
        except (LexiconTermError, NameTakenError) as error:
            self.refuse(line, error)

    def refuse(self, line: int, error: LexiconTermError | NameTakenError) -> None:
        """Note a fault; only those that stand first in the file are kept with their message."""
        self.fault_count += 1
        insort(self.faults, LineFault(line=line, error=error), key=lambda fault: fault.line)
        del self.faults[MOST_FAULTS:]

    def _take(self, line: int, values: Mapping[str, Any], status: str) -> None:
        old = self._known(values)
        checked = checked_values({"status": status, **values} if old is None else values, old=old)
        if old is None and len(self.known) >= MOST_TERMS:
            raise LexiconTermError("too_many", limit=MOST_TERMS)
        term, before = old or self.make(), stored_values(old) if old is not None else None
        name = (checked["key"], checked["long_form"])
        if self._names.get(name, term) is not term:
            raise NameTakenError("lexicon_term", name=checked["text"])
        self._names.pop((term.key, term.long_form), None)
        self._names[name] = self.known[name] = term
        for column, value in checked.items():
            setattr(term, column, value)
        if old is None:
            self._by_key.setdefault(term.key, []).append(term)
        after = stored_values(term)
        if before == after:
            self.same += 1
        else:
            self.changes.append(LineChange(line=line, term=term, before=before, after=after))

    def _known(self, values: Mapping[str, Any]) -> LexiconTerm | None:
        """The term that a line changes: with the same long form, or the only one of its name without one."""
        key, long_form = term_key(values["text"]), " ".join(str(values.get("long_form", "")).split())
        found = self.known.get((key, long_form))
        alike = self._by_key.get(key, ())
        if found is None and len(alike) == 1 and not (alike[0].long_form and long_form):
            found = alike[0]
        return found
