"""What the figures of a run suggest."""

from evaluation.services.runs.suggestions import suggestions_of


def figures(**values):
    return {name: {"value": value} for name, value in values.items()}


def test_what_is_below_seven_tenths_suggests_something_and_ours_decides_before_the_plain_rule():
    low = figures(faithfulness=0.69, faithfulness_overlap=0.9, answer_relevance=0.7, coherence=0.2)

    assert suggestions_of(low) == ("faithfulness", "coherence")
    assert suggestions_of(figures(faithfulness_overlap=0.5, completeness_aspects=0.6)) == (
        "faithfulness",
        "completeness",
    )


def test_failures_and_slow_answers_are_told():
    assert suggestions_of(figures(p95_ms=10_001), failed=2) == ("failures", "slow")
    assert suggestions_of(figures(p95_ms=9_999, faithfulness=0.9)) == ()
