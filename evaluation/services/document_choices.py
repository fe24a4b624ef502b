"""Documents and passages to choose from, by words of their title or text, and readable names of those chosen."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from accounts.scope import Scope
from evaluation.selectors import chunks_titled, documents_titled
from knowledge.models import Chunk
from knowledge.selectors import documents_readable
from knowledge.services import retrieve
from knowledge.types import RetrievalRequest
from ragcore.text.markdown import plain_text

MOST_DOCUMENTS, MOST_PASSAGES = 6, 6
SEARCHED_PASSAGES = 4 * MOST_PASSAGES  # those of documents that the asker may not open are left out
LEAST_LETTERS = 2  # of a search in texts
LONGEST = 200  # characters that are searched for
EXCERPT = 140
PASSAGE = re.compile(r"#(\d{1,12}):(\d{1,6})")


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChoice:
    """A document, or one of its passages. `value`: as the lab and cases name it; `text`: of a passage, else ""."""

    value: str
    document: str  # the document's name: its external id, or #number
    label: str
    detail: str
    text: str = ""


def choices_find(*, scope: Scope, query: str) -> list[DocumentChoice]:
    """Documents whose title has the words and which the asker may read, then passages that a search by words finds.

    Passages are only of documents that the asker may open: where originals are withheld, no text is shown.

    Raises RetrievalUnavailableError.
    """
    query = " ".join(query.split())[:LONGEST]
    rows = documents_readable(scope=scope)
    for word in query.split():
        rows = rows.filter(title__icontains=word)
    titled = rows.order_by("-created", "-pk").values_list("pk", "external_id", "title")[:MOST_DOCUMENTS]
    documents = [
        DocumentChoice(
            value=f"#{pk}", document=external_id or f"#{pk}", label=title or external_id, detail=external_id or f"#{pk}"
        )
        for pk, external_id, title in titled
    ]
    return [*documents, *(_passages(scope, query) if len(query) >= LEAST_LETTERS else [])]


def _passages(scope: Scope, query: str) -> list[DocumentChoice]:
    request = RetrievalRequest(query=query, mode="bm25", top_k=SEARCHED_PASSAGES, rerank=False)
    chunk_ids = [candidate.chunk for candidate in retrieve(scope=scope, request=request).state.candidates]
    passages = {chunk: passage for chunk, passage in chunks_titled(scope=scope, chunks=chunk_ids).items() if passage[3]}
    chunk_ids = [chunk for chunk in chunk_ids if chunk in passages][:MOST_PASSAGES]
    ordinals = dict(Chunk.objects.filter(pk__in=passages).values_list("pk", "ordinal"))
    return [
        DocumentChoice(
            value=f"#{document}:{ordinals[chunk] + 1}",
            document=external_id or f"#{document}",
            label=_passage_label(title, ordinals[chunk] + 1),
            detail=_plain(text)[:EXCERPT],
            text=text,
        )
        for chunk in chunk_ids
        for document, external_id, title, text in [passages[chunk]]
    ]


def _plain(markdown: str) -> str:
    """In one line, without marks of headings and emphasis."""
    return " ".join(filter(None, (plain_text(line.lstrip().lstrip("#")) for line in markdown.splitlines())))


def names_labelled(*, scope: Scope, names: Iterable[str]) -> dict[str, str]:
    """Name -> title of its document, with the number of the passage; names that lead nowhere are left out."""
    nonempty = [name for name in names if name]
    passages = {name: match for name in nonempty if (match := PASSAGE.fullmatch(name))}
    plain = {name: f"#{passages[name][1]}" if name in passages else name for name in nonempty}
    titles = documents_titled(scope=scope, names=plain.values())
    return {
        name: _passage_label(titles[plain[name]], int(passages[name][2])) if name in passages else titles[plain[name]]
        for name in nonempty
        if plain[name] in titles
    }


def names_unknown(*, scope: Scope, names: Sequence[str]) -> list[str]:
    """Those of the names (external ids, #numbers) that belong to no document which the asker may open, in order."""
    titles = documents_titled(scope=scope, names=names)
    return [name for name in dict.fromkeys(names) if name not in titles]


def _passage_label(title: str, number: int) -> str:
    return _("%(title)s, passage %(number)d") % {"title": title, "number": number}
