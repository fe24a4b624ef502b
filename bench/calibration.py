"""Confidence of answers beside how often they are right."""

from __future__ import annotations

from dataclasses import dataclass, field

TENTHS = 10


@dataclass(kw_only=True)
class Reliability:
    """Confidence of answers, 0 to 1, beside whether each was right."""

    answers: list[tuple[float, bool]] = field(default_factory=list)

    def add(self, confidence: float | None, *, is_right: bool) -> None:
        """An answer from documents; one without a confidence does not count."""
        if confidence is not None:
            self.answers.append((confidence, is_right))

    def bins(self) -> list[tuple[int, float, float]]:
        """Answers, mean confidence and share of right ones, by tenths of confidence; without empty tenths."""
        groups: dict[int, list[tuple[float, bool]]] = {}
        for confidence, is_right in self.answers:
            groups.setdefault(min(int(confidence * TENTHS), TENTHS - 1), []).append((confidence, is_right))
        return [
            (len(group), sum(c for c, _ in group) / len(group), sum(right for _, right in group) / len(group))
            for _tenth, group in sorted(groups.items())
        ]

    def error(self) -> float:
        """The expected calibration error (Naeini et al. 2015): mean distance of confidence and rightness, 0 to 1."""
        distance = sum(size * abs(confidence - right) for size, confidence, right in self.bins())
        return round(distance / (len(self.answers) or 1), 4)

    def summary(self) -> str:
        """Answers, share of right ones, mean confidence and error, as cells of a table."""
        size = len(self.answers) or 1
        right = sum(is_right for _confidence, is_right in self.answers) / size
        confidence = sum(confidence for confidence, _is_right in self.answers) / size
        return f"{len(self.answers)} | {right:.3f} | {confidence:.3f} | {self.error():.3f}"

    def table(self) -> str:
        """One row for each tenth of confidence, as Markdown."""
        rows = ["| confidence | answers | right |", "|---|---|---|"]
        rows += [f"| {confidence:.2f} | {size} | {right:.2f} |" for size, confidence, right in self.bins()]
        return "\n".join(rows)
