"""View models of the lab's templates: rows, bars and stages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from evaluation.admin.lab_labels import (
    FEATURE_WORDS,
    NOTE_WORDS,
    VIA_WORDS,
    fate_label,
    named,
    ranking_label,
    stage_label,
    value_label,
    where_labels,
)
from evaluation.services.lab.replay import StoredRow
from evaluation.services.lab.types import LabRow, LabRun, Move, Where
from knowledge.selectors.options import shown

SHORT: Mapping[str, Any] = {
    "lexical": "BM25",
    "coarse": "384",
    "dense": "768",
    "fused": "RSF",
    "title": pgettext_lazy("short name of a ranking", "title"),
    "rerank": pgettext_lazy("short name of a ranking", "rerank"),
    "quality": pgettext_lazy("short name of a ranking", "quality"),
    "use": pgettext_lazy("short name of a ranking", "use"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One ranking of one passage."""

    code: str
    short: str
    name: str
    share: float
    rank: int | None
    score: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowView:
    """One passage."""

    row: LabRow
    bars: tuple[Bar, ...]
    fate: str
    place: int | None  # in the list where it stands
    move: str = ""  # as a word of its own for readers who see no arrow
    move_kind: str = ""
    move_places: int = 0

    @property
    def use_kind(self) -> str:
        """Whether use has raised or lowered the passage, as moves are called; "" where it has not."""
        shift = self.row.use.get("shift", 0)
        return "up" if shift > 0 else "down" if shift < 0 else ""

    @property
    def use_words(self) -> str:
        """What use changed of the passage, and what people did with it for similar questions."""
        acts = _(
            "%(opened)s of %(shown)s times opened, %(helpful)s helpful, %(unhelpful)s not helpful; %(people)s people"
        )
        moved = _("rank %(place)s → %(now)s, score %(shift)s")
        values = {**self.row.use, "shift": f"{self.row.use['shift']:+.3g}"}
        return f"{moved % values} ({acts % values})"

    @property
    def facts(self) -> list[tuple[str, str]]:
        """What the rankings do not say: representation, boost."""
        row = self.row
        via = [(_("matched by"), f"{named(VIA_WORDS, name)} ({ranking_label(arm)})") for arm, name in row.via.items()]
        boost = [(_("adjusted by profile"), notes_of(row.boost))] if row.boost else []
        return [*via, *boost]

    @property
    def features(self) -> list[tuple[str, str, float]]:
        """Evidence of the reranker: words, value, length of its bar."""
        pairs = self.row.features.items()
        return [(named(FEATURE_WORDS, name), f"{value:.3g}", min(max(value, 0.0), 1.0)) for name, value in pairs]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageView:
    """One stage with its part of the time bar, in hundredths of the whole."""

    number: int
    name: str
    milliseconds: float
    start: float
    width: float
    before: int
    after: int
    note: str
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One configuration's search."""

    letter: str  # A or B
    prefix: str  # a or b, as in the form
    run: LabRun
    found: tuple[RowView, ...]
    dropped: tuple[RowView, ...]
    stages: tuple[StageView, ...]
    alpha: tuple[tuple[str, str], ...]
    corrections: str
    where: WhereView | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhereView:
    """What became of the expected document."""

    where: Where
    sentences: tuple[str, ...]
    rows: tuple[RowView, ...]

    @property
    def is_found(self) -> bool:
        return self.where.fate.kind in ("found", "merged")


def run_view(run: LabRun, *, letter: str, moves: Mapping[int, Move]) -> RunView:
    """A run in words; `moves` are those from the first run to the second one."""
    fusion = run.note("fuse.rsf")
    where = run.where
    return RunView(
        letter=letter,
        prefix=letter.lower(),
        run=run,
        found=tuple(_row(row, moves.get(row.chunk), letter) for row in run.found),
        dropped=tuple(_row(row, None, letter) for row in run.dropped),
        stages=tuple(_stages(run)),
        alpha=tuple(
            (named(NOTE_WORDS, name), _value(value)) for name, value in fusion.items() if _is_part(name, value)
        ),
        corrections=_corrections(run.note("correct.terms")),
        where=None
        if where is None
        else WhereView(
            where=where,
            sentences=tuple(where_labels(where)),
            rows=tuple(_row(row, None, letter) for row in where.rows),
        ),
    )


def _row(row: LabRow, move: Move | None, letter: str) -> RowView:
    bars = tuple(
        Bar(
            code=name,
            short=str(SHORT.get(name, name)),
            name=ranking_label(name),
            share=place.share,
            rank=place.rank,
            score=f"{place.score:.3g}",
        )
        for name, place in row.rankings.items()
    )
    word, kind = move_label(move, letter=letter)
    return RowView(
        row=row,
        bars=bars,
        fate=fate_label(row.fate),
        place=row.fate.place,
        move=word,
        move_kind=kind,
        move_places=move.places if move else 0,
    )


def move_label(move: Move | None, *, letter: str) -> tuple[str, str]:
    """How the second list differs, beside the passages where a reader looks for it: (words, kind)."""
    if move is None:
        return "", ""
    if move.kind == "only_left":
        return (_("only in this result"), "only") if letter == "A" else ("", "")
    if move.kind == "only_right":
        return (_("only in this result"), "only") if letter == "B" else ("", "")
    if letter == "A":
        return "", ""
    if move.kind == "same":
        return _("unchanged"), "same"
    words = _("up %(n)s") if move.kind == "up" else _("down %(n)s")
    return words % {"n": move.places}, move.kind


def _stages(run: LabRun) -> Iterable[StageView]:
    total, start = run.milliseconds or 1.0, 0.0
    for number, stage in enumerate(run.stages):
        width = 100 * stage.milliseconds / total
        yield StageView(
            number=number % 6,
            name=stage_label(stage.stage),
            milliseconds=stage.milliseconds,
            start=round(start, 2),
            width=round(width, 2),
            before=stage.before,
            after=stage.after,
            note=notes_of(stage.note),
            error=stage.error,
        )
        start += width


def notes_of(note: Mapping[str, Any]) -> str:
    """What a stage decided, in one line."""
    return " · ".join(f"{named(NOTE_WORDS, name)}: {_value(value)}" for name, value in note.items() if _is_told(value))


def _is_part(name: str, value: Any) -> bool:
    """Whether a note of the fusion says more than that nothing special happened."""
    return bool(value) and (name, value) != ("by", "formula") or name in ("alpha", "trust")


def _is_told(value: Any) -> bool:
    return value not in (None, "", {}, [], ())


def _value(value: Any) -> str:
    """A value of a note for people, however deep it is."""
    if isinstance(value, Mapping):
        return ", ".join(f"{value_label(str(name))} {_value(inner)}" for name, inner in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return ", ".join(_value(inner) for inner in value)
    if isinstance(value, str):
        return value_label(value)
    return f"{value:.3g}" if isinstance(value, float) else shown(value)


def _corrections(note: Mapping[str, Any]) -> str:
    return _value(note.get("corrections", {})) if note else ""


# ── then and now ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredView:
    """One row of the stored ranking beside today's."""

    row: StoredRow
    now: str
    kind: str


def stored_views(rows: Sequence[StoredRow]) -> list[StoredView]:
    """The stored ranking with what became of each of its passages."""
    return [StoredView(row=row, now=_now(row), kind=_now_kind(row)) for row in rows]


def _now(row: StoredRow) -> str:
    if row.now is None:
        return _("no longer a candidate")
    words = fate_label(row.now.fate)
    if not row.is_same_passage:
        return _("another passage of this document: %(fate)s") % {"fate": words}
    moved, _kind = move_label(row.move, letter="B") if row.now.final else ("", "")
    return f"{words} ({moved})" if moved else words


def _now_kind(row: StoredRow) -> str:
    if row.now is None or not row.is_same_passage or row.now.final is None:
        return "only"
    return row.move.kind
