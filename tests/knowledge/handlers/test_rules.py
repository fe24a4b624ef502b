"""What handlers make of names, paths and texts: pure."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.errors import RuleInvalidError
from knowledge.seeds import seed_handlers
from knowledge.services.handlers import Handler, Rule, handler_evaluate, pattern_check, template_check, version_key
from knowledge.services.handlers.rules import pattern_groups


def seeded(code: str) -> Handler:
    row = next(row for row in seed_handlers() if row["code"] == code)
    return Handler(
        whole=row.get("splitting") == "whole",
        keep_latest=row.get("keep_latest", False),
        series_template=row.get("series_template", ""),
        version_template=row.get("version_template", ""),
        title_template=row.get("title_template", ""),
        field_map=row.get("field_map", {}),
        rules=tuple(Rule(**rule) for rule in row["rules"]),
    )


def outcome(handler, path, *, text=None, title="Title", metadata=None):
    name = path.rpartition("/")[2]
    return handler_evaluate(handler=handler, path=path, name=name, title=title, text=text, metadata=metadata or {})


@pytest.mark.parametrize(
    ("name", "spec", "release", "version"),
    [
        ("23501-g50.docx", "TS 23.501", "Rel-16", "16.5.0"),
        ("38331-h10.docx", "TS 38.331", "Rel-17", "17.1.0"),
        ("36331-920.doc", "TS 36.331", "Rel-9", "9.2.0"),
        ("38101-1-g30.docx", "TS 38.101-1", "Rel-16", "16.3.0"),
        ("38901-i00.docx", "TR 38.901", "Rel-18", "18.0.0"),
        ("23501-160500.docx", "TS 23.501", "Rel-16", "16.5.0"),
        ("23501-G50_cover.docx", "TS 23.501", "Rel-16", "16.5.0"),
    ],
)
def test_names_of_3gpp_files_say_what_they_are(name, spec, release, version):
    found = outcome(seeded("3gpp"), f"rel/{name}")

    assert found.metadata == {"spec": spec, "release": release, "version": version}
    assert found.title == f"{spec} {release} V{version}"
    assert (found.series, found.series_version) == (f"{spec} {release}", version)
    assert found.tags == ("3GPP",)


def test_a_file_that_is_no_specification_is_left_as_it_is():
    found = outcome(seeded("3gpp"), "readme.txt")

    assert (found.metadata, found.title, found.series, found.tags) == ({}, "", "", ())


def test_support_documents_keep_their_directory_and_are_tagged_by_their_text():
    before = outcome(seeded("support"), "LTE/alarms/vswr.md")
    after = outcome(seeded("support"), "LTE/alarms/vswr.md", text="Restart the gNodeB.")

    assert before.metadata == {"directory": "LTE/alarms", "hierarchy": "LTE > alarms"}
    assert (before.tags, after.tags) == ((), ("5G",))


@pytest.mark.parametrize(
    "text", ["# 案例\n\n产品名称：RRU5909\n\n现象", "Product: RRU5909\nFault", "**Product:** RRU5909\n"]
)
def test_cases_are_whole_and_name_their_product_in_the_title(text):
    found = outcome(seeded("cases"), "case 7.md", text=text, title="VSWR alarm")

    assert found.whole
    assert found.title == "RRU5909: VSWR alarm"


def test_the_product_of_a_case_may_come_from_its_system():
    found = outcome(seeded("cases"), "7.md", title="Alarm", metadata={"product_name": "RRU"})

    assert (found.metadata["product"], found.title) == ("RRU", "RRU: Alarm")


def test_a_title_with_a_hole_that_nothing_fills_is_not_used():
    assert outcome(seeded("cases"), "7.md", title="Alarm").title == ""


@pytest.mark.parametrize(
    ("path", "series", "version"),
    [
        ("radio/Power design_v1.2.docx", "radio/power design", "1.2"),
        ("radio/Power design V10.docx", "radio/power design", "10"),
        ("design-v3.md", "design", "3"),
    ],
)
def test_design_documents_know_their_series(path, series, version):
    found = outcome(seeded("design"), path)

    assert (found.series, found.series_version) == (series, version)


def test_the_first_folder_of_a_design_document_is_its_organisation():
    assert outcome(seeded("design"), "GUC/a/x v1.md").metadata["organisation"] == "GUC"


def test_wiki_pages_keep_their_hierarchy():
    found = outcome(seeded("wiki"), "https://wiki.example.org/radio/beams/sweep", metadata={"creator": "Lin"})

    assert found.metadata == {"author": "Lin", "hierarchy": "radio > beams"}


def test_later_rules_overwrite_earlier_ones_and_hidden_attributes_serve_templates_only():
    rules = (
        Rule(looks="name", match="glob", pattern="*.md", action="attribute", attribute="kind", value="note"),
        Rule(looks="name", match="contains", pattern="CASE", action="attribute", attribute="kind", value="case"),
        Rule(
            looks="name", match="regex", pattern=r"(?P<n>\d+)", action="attribute", attribute="_n", value="{n|number}"
        ),
    )

    found = outcome(Handler(rules=rules, title_template="{kind} {_n}"), "case-007.md")

    assert (found.metadata, found.title) == ({"kind": "case"}, "case 7")


def test_a_rule_may_leave_a_document_out():
    skip = Rule(looks="path", match="contains", pattern="/draft/", action="skip")

    assert outcome(Handler(rules=(skip,)), "a/Draft/x.md").skip
    assert not outcome(Handler(rules=(skip,)), "a/final/x.md").skip


def test_a_pattern_that_would_take_for_ever_is_given_up_and_named():
    slow = Rule(looks="text", match="regex", pattern=r"(.*a){25}b", action="tag", value="x")

    began = time.monotonic()
    found = outcome(Handler(rules=(slow,)), "a.md", text="a" * 100_000)

    assert time.monotonic() - began < 5
    assert (found.tags, found.slow) == ((), (slow.pattern,))


@pytest.mark.parametrize("pattern", [r"(a|aa)+$", r"(.*a){25}b", r"(?:a{1,1000}){1,1000}b"])
def test_patterns_that_take_long_are_refused_when_they_are_written(pattern):
    with pytest.raises(RuleInvalidError, match="too long"):
        pattern_check(match="regex", pattern=pattern)


@pytest.mark.parametrize("pattern", ["", "(", "a" * 513, "[z-a]"])
def test_patterns_that_cannot_be_read_are_refused(pattern):
    with pytest.raises(RuleInvalidError):
        pattern_check(match="regex", pattern=pattern)


@pytest.mark.parametrize("template", ["{1|base37}", "{1", "a } b"])
def test_templates_that_cannot_be_filled_are_refused(template):
    with pytest.raises(RuleInvalidError):
        template_check(template)


def test_every_seed_passes_the_checks():
    for row in seed_handlers():
        for name in ("title_template", "series_template", "version_template"):
            template_check(row.get(name, ""))
        for rule in row["rules"]:
            pattern_check(match=rule["match"], pattern=rule["pattern"])
            template_check(rule.get("value", ""))


@given(text=st.text(max_size=200))
def test_what_a_text_contains_is_found_as_a_pattern_in_it(text):
    middle = text[len(text) // 3 : 2 * len(text) // 3]

    assert not middle or pattern_groups(match="contains", pattern=middle, text=text) is not None


@given(parts=st.lists(st.integers(0, 10**6), min_size=1, max_size=4), step=st.integers(1, 1000))
def test_a_version_grows_with_each_of_its_numbers(parts, step):
    higher = [*parts[:-1], parts[-1] + step]

    assert version_key(".".join(map(str, parts))) < version_key(".".join(map(str, higher)))


@pytest.mark.parametrize(
    ("lower", "higher"), [("9.2", "10.0"), ("v1", "V2"), ("1.2", "1.2.1"), ("2023-01", "2023-10"), ("1.0a", "1.0b")]
)
def test_versions_are_compared_as_people_do(lower, higher):
    assert version_key(lower) < version_key(higher)
