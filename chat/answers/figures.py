"""Pictures and words of the passages that an answer cites."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from accounts.scope import Scope
from chat.models import Message, MessageCitation
from chat.rendering import claim_at
from knowledge.models import DocumentPicture
from knowledge.rendering import citation_texts
from knowledge.selectors.keeping import documents_openable
from knowledge.view_models import PICTURES
from ragcore.text.figure_words import asks_for_picture, figure_numbers, names_figure
from ragcore.text.markdown import pictures_in

EXCERPT_CHARACTERS = 220
MAX_FIGURES = 4  # of one answer
_MARKER = re.compile(r"\[(\d{1,3})\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureLine:
    """A picture that stands in a cited passage and that the question concerns."""

    number: int  # of the source
    place: int  # the marker behind which it stands: which one of the answer's text, from 0
    picture: DocumentPicture
    caption: str  # the words at the picture in the document; "" where it has none
    document_id: int
    title: str
    page: int | None

    @property
    def version_id(self) -> int:
        return self.picture.version_id

    @property
    def name(self) -> str:
        """The name in its version."""
        return self.picture.name

    @property
    def alt(self) -> str:
        """What the picture shows, for who does not see it."""
        return self.picture.alt or self.caption


@dataclass(frozen=True, slots=True)
class _Candidate:
    citation: MessageCitation
    place: int
    name: str
    caption: str


def may_have_figures(question: str, answer: str) -> bool:
    """Whether pictures may belong to an answer, by its words alone: for most there is nothing to read."""
    return asks_for_picture(question) or names_figure(answer)


def figures_of(
    *, scope: Scope, messages: Sequence[Message], by_message: Mapping[uuid.UUID, Sequence[MessageCitation]]
) -> dict[uuid.UUID, list[FigureLine]]:
    """The pictures of cited passages that the questions concern, by message and in the order of the text.

    A picture belongs to an answer where the question asks for one, or where the sentence that cites its passage names
    it; where numbers of figures are named only those with such a number. Only pictures that the asker may open at this
    moment, each once, at most MAX_FIGURES.
    """
    candidates = {message.pk: list(_candidates(message, by_message.get(message.pk, ()))) for message in messages}
    versions = {each.citation.version_id for listed in candidates.values() for each in listed}
    if not versions:
        return {}
    openable = documents_openable(scope=scope).filter(live_version__in=versions)
    titles = dict(openable.values_list("live_version_id", "title"))
    rows = DocumentPicture.objects.filter(version__in=titles, media_type__in=PICTURES.values())
    pictures = {(row.version_id, row.name): row for row in rows}
    return {message: _lines(listed, pictures, titles) for message, listed in candidates.items()}


def _candidates(message: Message, citations: Sequence[MessageCitation]) -> Iterator[_Candidate]:
    """Pictures of cited passages that the question concerns, whoever may see them."""
    if not may_have_figures(message.question, message.answer):
        return
    is_wanted = asks_for_picture(message.question)
    for citation in citations:
        listed = list(pictures_in(citation.chunk.text)) if citation.cited else []
        claims = _claims(message.answer, citation.number) if listed else {}
        pointing = {place: claim for place, claim in claims.items() if names_figure(claim)}
        if not claims or not (is_wanted or pointing):
            continue
        numbers = figure_numbers(message.question) or figure_numbers(" ".join(pointing.values()))
        for name, caption in _with_numbers(listed, numbers):
            yield _Candidate(citation, next(iter(pointing or claims)), name, caption)


def _claims(answer: str, number: int) -> dict[int, str]:
    """What the answer says with each marker of a source, by the place of the marker."""
    places = [place for place, match in enumerate(_MARKER.finditer(answer)) if int(match[1]) == number]
    return {place: claim_at(answer, place) for place in places}


def _with_numbers(listed: Sequence[tuple[str, str]], numbers: Collection[str]) -> list[tuple[str, str]]:
    """The pictures whose words have one of these numbers; all where none has, and where no number is named."""
    fitting = [(name, words) for name, words in listed if figure_numbers(words) & set(numbers)]
    return fitting or list(listed)


def _lines(
    listed: Sequence[_Candidate], pictures: Mapping[tuple[int, str], DocumentPicture], titles: Mapping[int, str]
) -> list[FigureLine]:
    lines: dict[int, FigureLine] = {}
    for each in sorted(listed, key=lambda candidate: candidate.place):
        citation = each.citation
        picture = pictures.get((citation.version_id, each.name))
        if picture is not None and len(lines) < MAX_FIGURES:
            line = FigureLine(
                number=citation.number,
                place=each.place,
                picture=picture,
                caption=each.caption,
                document_id=citation.document_id,
                title=titles[citation.version_id],
                page=picture.page or citation.chunk.page,
            )
            lines.setdefault(picture.pk, line)
    return list(lines.values())


def excerpt_of(citation: MessageCitation) -> str:
    """What the answer takes from the source, else how its passage begins; in plain words."""
    texts = citation_texts(citation.chunk.text, claim=citation.segment)
    whole = " ".join(texts)
    return whole if len(whole) <= EXCERPT_CHARACTERS else f"{whole[:EXCERPT_CHARACTERS].rstrip()}…"
