"""What a colleague sees of a shared answer: only what the colleague may read at this moment (`chat.answers.rights`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from accounts.scope import Scope
from chat.answers.figures import FigureLine, figures_of
from chat.answers.outcome_words import outcome_words
from chat.answers.rights import AnswerRights, answers_rights
from chat.answers.source_lines import fact_title
from chat.branches import branches_of
from chat.models import FactCitation, Message, MessageCitation, SharedLink
from chat.pages.figure_markup import figures_placed
from chat.pages.view_models import text_lang
from chat.rendering import render_markdown
from chat.rendering.figures import with_figures
from knowledge.models import KnowledgeSet
from knowledge.rendering import markdown_html
from knowledge.selectors import sets_readable
from ragcore.text.code_blocks import is_block

MOST_TURNS = 50  # of a conversation: the last ones
_BUTTON = re.compile(r'<button class="cite"[^<>]*data-cite="(\d+)"[^<>]*>\d+</button>')


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedSource:
    """A source of a shared answer; one that may not be read keeps its number only."""

    number: int
    is_readable: bool
    title: str = ""
    sets: str = ""
    page: int | None = None
    section: str = ""
    html: SafeString = SafeString("")
    document_id: int | None = None
    edited: datetime | None = None  # when an owner wrote the text of the passage


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPart:
    """A piece of the text, or in its place how many sentences are withheld."""

    html: SafeString = SafeString("")
    withheld: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTurn:
    """A question with what may be seen of its answer."""

    message: Message
    lang: str
    parts: Sequence[SharedPart]
    sources: Sequence[SharedSource]
    is_whole: bool  # nothing is withheld
    outcome: str  # what the reader must know of a text that is not a whole answer; "": it is one


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedConversation:
    """The turns of a link in order."""

    turns: Sequence[SharedTurn]
    left_out: int  # earlier turns, of a long conversation


def shared_turns(*, scope: Scope, link: SharedLink) -> SharedConversation:
    """The turns of a link that was opened (`link_open`), under the rights of the one who looks at it."""
    message = link.message
    path = branches_of(message.conversation).path_to(message.pk)
    turn_ids = path if link.is_whole else [message.pk]
    answered = Message.objects.filter(
        conversation=message.conversation_id, state__in=(Message.State.DONE, Message.State.STOPPED)
    )
    rows = answered.filter(pk__in=turn_ids[-MOST_TURNS:])
    left_out = answered.filter(pk__in=turn_ids[:-MOST_TURNS]).count() if len(turn_ids) > MOST_TURNS else 0
    related = ("citations__chunk", "citations__document__sets", "attachment_citations", "fact_citations")
    turns = list(rows.order_by("created").prefetch_related(*related))
    sets = {knowledge_set.pk: knowledge_set for knowledge_set in sets_readable(scope=scope)}
    rights = answers_rights(scope=scope, messages=turns, path=path)
    citations = {row.pk: list(row.citations.all()) for row in turns}
    figures = figures_of(scope=scope, messages=turns, by_message=citations)
    shared = [_turn(answer, sets, figures.get(answer.message.pk, ())) for answer in rights]
    return SharedConversation(turns=shared, left_out=left_out)


def _turn(rights: AnswerRights, sets: dict[int, KnowledgeSet], figures: Sequence[FigureLine]) -> SharedTurn:
    message = rights.message
    attached = [citation.number for citation in message.attachment_citations.all()]
    html = with_figures(message.answer_html, figures_placed(figures)) if rights.is_whole else ""
    parts = [SharedPart(html=_linked(html, message))] if rights.is_whole else list(_parts(rights))
    listed = [citation for citation in rights.citations if citation.cited or message.status == "search_results"]
    sources = [_source(citation, citation.number in rights.readable, sets) for citation in listed]
    files = [SharedSource(number=number, is_readable=False) for number in attached]
    facts = [_fact(row, row.triple_id in rights.readable_facts) for row in rights.facts if row.cited]
    return SharedTurn(
        message=message,
        lang=text_lang(message.question),
        parts=parts,
        sources=sorted([*sources, *files, *facts], key=lambda shared_source: shared_source.number),
        is_whole=rights.is_whole,
        outcome=outcome_words(message),
    )


def _parts(rights: AnswerRights) -> Iterator[SharedPart]:
    """Sentences that may be shown, and how many stand between them that may not."""
    withheld = 0
    sentences = rights.sentences()
    for text, stored in zip(sentences, rights.message.sentences, strict=True):
        if text is None:
            withheld += 1
            continue
        if withheld:
            yield SharedPart(withheld=withheld)
            withheld = 0
        marked = with_markers(text, stored["citations"])
        html = render_markdown(marked, citations=rights.readable, with_languages=True)
        yield SharedPart(html=_linked(html, rights.message))
    if withheld or not sentences:
        yield SharedPart(withheld=withheld or 1)


def with_markers(text: str, numbers: Iterable[int]) -> str:
    """A sentence with the markers of its sources that it lacks; a block of code has them in a line below it."""
    listed = sorted(set(numbers))
    if is_block(text):
        return f"{text}\n{''.join(f'[{number}]' for number in listed)}"
    return f"{text} {''.join(f'[{number}]' for number in listed if f'[{number}]' not in text)}".rstrip()


def _linked(html: str, message: Message) -> SafeString:
    """Markers as links to the sources below, without scripts. The HTML was sanitised when it was made."""
    label = _("Source %(number)s")
    linked = _BUTTON.sub(
        lambda match: (
            f'<a class="cite" href="#source-{message.pk}-{match[1]}" '
            f'aria-label="{label % {"number": match[1]}}">{match[1]}</a>'
        ),
        html,
    )
    return mark_safe(linked)  # noqa: S308


def _source(citation: MessageCitation, is_readable: bool, sets: dict[int, KnowledgeSet]) -> SharedSource:
    if not is_readable:
        return SharedSource(number=citation.number, is_readable=False)
    chunk, document = citation.chunk, citation.document
    names = [sets[knowledge_set.pk].shown_name for knowledge_set in document.sets.all() if knowledge_set.pk in sets]
    return SharedSource(
        number=citation.number,
        is_readable=True,
        title=document.title,
        sets=" · ".join(names),
        page=chunk.page,
        section=" › ".join(heading for heading in chunk.heading_path if heading != document.title),
        html=markdown_html(chunk.text, claim=citation.segment),
        document_id=document.pk,
        edited=chunk.edited,
    )


def _fact(citation: FactCitation, is_readable: bool) -> SharedSource:
    if not is_readable:
        return SharedSource(number=citation.number, is_readable=False)
    html = markdown_html(citation.excerpt)
    return SharedSource(number=citation.number, is_readable=True, title=fact_title(citation.file), html=html)
