"""What a remedy is: one class, one file. It says when it helps, does it, and takes it back.

A remedy uses the services that people use by hand, with the rights of the person who clicks; nothing else is changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from accounts.models import User
from accounts.scope import Scope
from chat.answers.rights import question_shown
from evaluation.models import Diagnosis, RemedyApplication
from evaluation.selectors import diagnosis_latest
from feedback.models import BadCase
from knowledge.models import Chunk, Document
from knowledge.selectors import documents_readable
from knowledge.selectors.keeping import is_kept

Values = Mapping[str, str]  # of the form, by name of the field

REMEDIES: dict[str, Remedy] = {}  # by code, in the order of the page


@dataclass(frozen=True, kw_only=True)
class About:
    """A case with what is known of it, as far as the person may read it. `actor`: who looks or clicks."""

    scope: Scope
    actor: User
    case: BadCase

    @cached_property
    def question(self) -> str:
        """As it was understood, where the person may read what that rests on."""
        return question_shown(scope=self.scope, message=self.case.message)

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        return diagnosis_latest(scope=self.scope, message=self.case.message)

    @cached_property
    def document(self) -> Document | None:
        """That bears the answer: as a reviewer has marked it, else as the diagnosis says; only a readable one."""
        pk = self.case.marked_document_id or (self.diagnosis and self.diagnosis.document_id)
        rows = documents_readable(scope=self.scope).select_related("live_version")
        return rows.filter(pk=pk).first() if pk else None

    @cached_property
    def ordinal(self) -> int | None:
        """Of the passage in it, 0-based."""
        diagnosis = self.diagnosis
        if self.document is None:
            return None
        if self.case.marked_document_id == self.document.pk and self.case.marked_ordinal is not None:
            return self.case.marked_ordinal
        return diagnosis.ordinal if diagnosis and diagnosis.document_id == self.document.pk else None

    @cached_property
    def is_kept(self) -> bool:
        """Whether the person may change the document."""
        return self.document is not None and is_kept(scope=self.scope, document=self.document)

    @cached_property
    def passage(self) -> Chunk | None:
        """The passage in the live version, also one that was taken out of searches; only of a kept document."""
        if self.document is None or not self.is_kept or self.ordinal is None:
            return None
        rows = Chunk.objects.filter(version=self.document.live_version_id, ordinal=self.ordinal)
        rows = rows.exclude(kind=Chunk.Kind.SECTION).select_related("edit")
        return rows.filter(retired=None).first() or rows.order_by("-pk").first()

    @property
    def detail(self) -> str:
        return self.diagnosis.detail if self.diagnosis else ""

    @property
    def wanted_remedy(self) -> str:
        """What the diagnosis asks for; "" without one."""
        return self.diagnosis.remedy if self.diagnosis else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One input of a remedy's form. With choices it is a list, otherwise text."""

    name: str
    label: Any
    value: str = ""
    choices: tuple[tuple[str, Any], ...] = ()  # value and label
    rows: int = 1
    longest: int = 512
    picks: bool = False  # documents and passages, one a line, which people search for


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A remedy that can be applied to a case now. `is_advised`: the diagnosis asks for it."""

    fields: tuple[Field, ...] = ()
    is_advised: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What was changed. `before`: JSON that `undo` needs."""

    before: dict[str, Any] = field(default_factory=dict)
    document: int | None = None
    job: int | None = None  # that has to end before the change is in force


class Remedy(ABC):
    """One way to mend an answer. Register it with `@remedy` in a file of its own and name that in `__init__`."""

    code: ClassVar[str]
    label: ClassVar[Any]
    help: ClassVar[Any]
    changes_search: ClassVar[bool] = True  # the question is answered by it: it can be tested at once

    @abstractmethod
    def offer(self, about: About) -> Offer | None:
        """None where it cannot be applied or would change nothing."""

    @abstractmethod
    def apply(self, about: About, values: Values) -> Done:
        """Change it; called only where it is offered. Raises RagError."""

    def applied(self, about: About, application: RemedyApplication) -> None:  # noqa: B027  # most have nothing to add
        """What follows once the application is recorded."""

    @abstractmethod
    def undo(self, about: About, application: RemedyApplication) -> None:
        """Take back what `apply` did. Raises RagError where it cannot be taken back."""


def remedy(kind: type[Remedy]) -> type[Remedy]:
    """Class decorator: offer this remedy."""
    REMEDIES[kind.code] = kind()
    return kind


def chosen(fields: tuple[Field, ...], values: Values) -> dict[str, str]:
    """The values of the form: of lists only values that were offered, of texts not more than they may hold."""
    found = {}
    for one in fields:
        given = values.get(one.name, one.value)
        if one.choices and given not in {value for value, _label in one.choices}:
            given = one.value or one.choices[0][0]
        found[one.name] = given[: one.longest].strip()
    return found
