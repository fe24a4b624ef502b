"""What changed between two versions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from knowledge.selectors.comparisons import texts_diff


def changes(old, new):
    return [(line.change, line.text) for line in texts_diff(old, new) if line.change in ("added", "removed")]


def test_one_changed_sentence_is_shown_and_its_neighbours_stay():
    old = "The beam is wide. It has 8 ports. It is fixed."
    new = "The beam is wide. It has 16 ports. It is fixed."

    assert changes(old, new) == [("removed", "It has 8 ports."), ("added", "It has 16 ports.")]
    assert [line.text for line in texts_diff(old, new) if line.change == "same"] == [
        "The beam is wide.",
        "It is fixed.",
    ]


def test_long_stretches_that_stayed_are_counted_instead_of_shown():
    same = "\n".join(f"Sentence number {n} stays." for n in range(50))

    lines = list(texts_diff(f"First.\n{same}\nLast.", f"Other.\n{same}\nLast."))

    skipped = [line for line in lines if line.change == "skipped"]
    assert len(skipped) == 1
    assert skipped[0].count >= 45


def test_the_same_text_has_no_changes():
    assert changes("One. Two.", "One. Two.") == []


words = st.lists(st.sampled_from(["Alpha.", "Beta.", "Gamma.", "波束。", "小区。"]), max_size=30).map("\n".join)


@given(words, words)
def test_what_is_removed_and_added_turns_one_text_into_the_other(old, new):
    before = old.split()
    kept_or_added = []
    at = 0
    for line in texts_diff(old, new):
        if line.change == "removed":
            assert before[at] == line.text
            at += 1
        elif line.change == "added":
            kept_or_added.append(line.text)
        else:
            count = line.count
            kept_or_added += before[at : at + count]
            at += count

    assert kept_or_added == new.split()
    assert at == len(before)
