"""Reading sets and sources for the tools. A tool asks, so it never sees more than a search of its caller would."""

from __future__ import annotations

from collections.abc import Sequence

from accounts.errors import NotFoundError
from accounts.scope import Scope
from chat.mcp.schemas import SOURCE_CHARACTERS, SetOut, SetsOut, SourceOut
from knowledge.models import Chunk, Document
from knowledge.selectors import documents_askable, sets_listed, sets_readable


def sets_named(*, scope: Scope, names: Sequence[int | str]) -> tuple[int, ...]:
    """Ids of sets that are named by id or code, each once. Raises NotFoundError for one that does not exist."""
    listed = dict(sets_listed(scope=scope).filter(tenant_id=scope.tenant_id).values_list("code", "pk"))
    known = set(listed.values())
    found = [listed.get(name) if isinstance(name, str) else name for name in names]
    for name, number in zip(names, found, strict=True):
        if number not in known:
            raise NotFoundError("set", set=name)
    return tuple(dict.fromkeys(number for number in found if number is not None))


def sets_out(*, scope: Scope) -> SetsOut:
    """The sets that the caller may read, by code."""
    rows = sets_readable(scope=scope).order_by("code")
    return SetsOut(
        sets=[
            SetOut(id=row.pk, code=row.code, name=row.name, axis=row.axis, description=row.description) for row in rows
        ]
    )


def source_out(*, scope: Scope, document_id: int | None, chunk_id: int | None, offset: int) -> SourceOut:
    """The text of a document, or of one passage of it. Raises NotFoundError."""
    if chunk_id is not None:
        chunk = _chunk(scope=scope, chunk_id=chunk_id)
        document, text = chunk.version.document, chunk.text
        if document_id is not None and document.pk != document_id:
            raise NotFoundError("passage", chunk=chunk_id)
        page, headings = chunk.page, list(chunk.heading_path)
    else:
        document = _document(scope=scope, document_id=document_id or 0)
        if document.live_version is None:
            raise NotFoundError("no_text", document=document.pk)
        text, page, headings = document.live_version.markdown, None, []
    end = offset + SOURCE_CHARACTERS
    return SourceOut(
        document_id=document.pk,
        chunk_id=chunk_id,
        external_id=document.external_id,
        title=document.title,
        page=page,
        heading_path=headings,
        text=text[offset:end],
        offset=offset,
        next_offset=end if end < len(text) else None,
        total_characters=len(text),
    )


def _document(*, scope: Scope, document_id: int) -> Document:
    found = documents_askable(scope=scope).select_related("live_version").filter(pk=document_id).first()
    if found is None:
        raise NotFoundError("document", document=document_id)
    return found


def _chunk(*, scope: Scope, chunk_id: int) -> Chunk:
    """A passage of any version: an answer of yesterday may cite one that has been replaced."""
    rows = Chunk.objects.select_related("version__document").filter(
        version__document__in=documents_askable(scope=scope)
    )
    found = rows.filter(pk=chunk_id).first()
    if found is None:
        raise NotFoundError("passage", chunk=chunk_id)
    return found
