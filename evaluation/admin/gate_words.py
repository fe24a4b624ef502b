"""Verdicts of the gate in the language of the reader: for the page of a change and that of a comparison."""

from __future__ import annotations

from django.utils.translation import gettext

from evaluation.services.runs.comparison import GateFault, GateVerdict
from ragcore.metrics.registry import metric_info


def fault_words(fault: GateFault) -> str:
    """Why a metric does not pass, in the language of the reader."""
    if fault.reason == "failed":
        counts = {"failed": int(fault.value or 0), "cases": int(fault.limit or 0)}
        return gettext("%(failed)s of %(cases)s cases ended with an error, so that they cannot be compared.") % counts
    info = metric_info(fault.metric)
    name = gettext(info.label) if info is not None else fault.metric
    if fault.value is None:
        return gettext("%(metric)s was not measured, and has a lowest value.") % {"metric": name}
    values = {"metric": name, "value": f"{fault.value:.3f}", "limit": f"{fault.limit or 0:.3f}"}
    if fault.reason == "below":
        return gettext("%(metric)s is %(value)s, and must not be worse than %(limit)s.") % values
    if fault.reason == "lost":
        return gettext("%(metric)s is %(value)s, more than 0.05 worse than %(limit)s now.") % values
    return gettext("%(metric)s is %(value)s, significantly worse than %(limit)s now.") % values


def weakness_words(verdict: GateVerdict) -> str:
    """What a verdict cannot say, in the language of the reader; "" where the test has enough cases."""
    values = {"cases": verdict.compared, "differing": verdict.differing, "least": verdict.least}
    if verdict.is_too_small:
        return (
            gettext(
                "This golden set is too small: a test needs at least %(least)s cases that differ, and there are"
                " %(cases)s. Only a fall of a mean by more than 0.05 or a lowest value can hold a change back."
                " Add cases."
            )
            % values
        )
    if verdict.is_untouched:
        return gettext("None of the %(cases)s cases differ: this golden set does not notice the change.") % values
    if verdict.is_undecided:
        return (
            gettext(
                "%(differing)s of %(cases)s cases differ. A test needs at least %(least)s, so the limit decides: no"
                " mean may fall by more than 0.05."
            )
            % values
        )
    return ""
