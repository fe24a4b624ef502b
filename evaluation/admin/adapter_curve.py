"""Figures of a training in words, and its curves as plain numbers that the template of charts draws as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import formats
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.admin.charts import HEIGHT, WIDTH, Chart, Line, Series
from knowledge.models.trainings import Training
from work.models import Job

LABELS = 6  # rounds that are named below the plane
TICKS = 4
LEAST_SPAN = 0.02  # of the axis, so that noise does not look like a change
METRIC_WORDS = {"recall@10": gettext_lazy("Recall@10"), "ndcg@10": gettext_lazy("nDCG@10")}


def state_words(row: Training, job: Job | None) -> str:
    """Where a training stands: as its job does, while it has one."""
    return str(job.get_state_display()) if row.is_open and job is not None else row.state_words


def figures_shown(figures: Mapping[str, Any]) -> list[tuple[Any, dict[str, float]]]:
    """(metric, before and after with an interval) of all held-out questions."""
    return [(METRIC_WORDS[name], one) for name, one in figures.get("overall", {}).items() if name in METRIC_WORDS]


def training_charts(curve: Sequence[Mapping[str, Any]]) -> list[Chart]:
    """Recall and nDCG on held-out documents, and the loss, by round."""
    return [
        curve_chart(
            _("Found on held-out documents"),
            curve,
            {"recall": (_("Recall@10"), "answered"), "ndcg": (_("nDCG@10"), "searched")},
        ),
        curve_chart(_("Loss on trained pairs"), curve, {"loss": (_("Loss"), "refused")}),
    ]


def curve_chart(title: str, curve: Sequence[Mapping[str, Any]], names: Mapping[str, tuple[str, str]]) -> Chart:
    """Lines over rounds; the axis begins near the lowest value, because what matters is small beside it."""
    values = [float(point[name]) for point in curve for name in names if point.get(name) is not None]
    low, high = min(values, default=0.0), max(values, default=1.0)
    span = max(high - low, LEAST_SPAN) * 1.2
    base = max(0.0, (low + high - span) / 2)
    last = max((int(point["round"]) for point in curve), default=1) or 1
    x = lambda at: round(WIDTH * (0.02 + 0.96 * at / last), 2)  # noqa: E731
    y = lambda value: round(HEIGHT * (1 - (value - base) / span), 2)  # noqa: E731
    lines, series = [], []
    for name, (label, kind) in names.items():
        points = [(int(point["round"]), float(point[name])) for point in curve if point.get(name) is not None]
        words = [
            _("round %(round)s: %(name)s %(value)s") % {"round": e, "name": label, "value": _number(v)}
            for e, v in points
        ]
        dots = [(x(e), y(v), text) for (e, v), text in zip(points, words, strict=True)]
        piece = " ".join(f"{at},{height}" for at, height, _text in dots)
        lines.append(Line(kind, [piece] if len(dots) > 1 else [], dots))
        series.append(Series(name=label, kind=kind, values=[value for _round, value in points]))
    every = max(1, -(-len(curve) // LABELS))
    return Chart(
        title=title,
        series=series,
        lines=lines,
        ticks=[(y(base + span * at / TICKS), _number(base + span * at / TICKS)) for at in range(TICKS + 1)],
        dates=[(x(int(point["round"])), str(point["round"])) for point in curve[::every]],
        summary="; ".join(
            f"{one.name} {_number(max(v for v in one.values if v is not None))}" for one in series if one.values
        ),
    )


def _number(value: float) -> str:
    return formats.number_format(round(value, 3), decimal_pos=3, use_l10n=True)
