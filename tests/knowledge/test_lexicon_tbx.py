"""Lexicons as TBX: what is written is read again, other people's files are understood, bad ones are refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import LexiconTerm
from knowledge.services.lexicon.files import entries_of, lexicon_export, lexicon_import
from knowledge.services.lexicon.tbx import tbx_of
from knowledge.services.lexicon.terms import FIELDS, checked_values
from tests.factories import scope_of
from tests.forms_plugin import examples

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
OLD = """<!DOCTYPE martif SYSTEM "TBXBasiccoreStructV02.dtd">
<martif type="TBX-Basic" xml:lang="en"><martifHeader/><text><body>
<termEntry id="c1">
<descrip type="subjectField">radio</descrip>
<langSet xml:lang="en-US">
<tig><term>carrier <hi>aggregation</hi></term><termNote type="termType">fullForm</termNote></tig>
<tig><term>CA</term><termNote type="termType">acronym</termNote></tig>
<tig><term>channel bonding</term><termNote type="administrativeStatus">deprecatedTerm-admn-sts</termNote></tig>
</langSet>
<langSet xml:lang="zh-CN"><ntig><termGrp><term>载波聚合</term></termGrp></ntig></langSet>
<langSet xml:lang="en-GB"><tig><term>carrier bundling</term></tig></langSet>
</termEntry></body></text></martif>"""
NEW = """<tbx type="TBX-Basic" style="dct" xml:lang="en" xmlns="urn:iso:std:iso:30042:ed-2"
 xmlns:min="http://www.tbxinfo.net/ns/min" xmlns:basic="http://www.tbxinfo.net/ns/basic"><tbxHeader/><text><body>
<conceptEntry id="c1"><langSec xml:lang="zh">
<termSec><term>旧名</term><min:administrativeStatus>supersededTerm-admn-sts</min:administrativeStatus></termSec>
<termSec><term>波束管理</term><min:administrativeStatus>preferredTerm-admn-sts</min:administrativeStatus></termSec>
</langSec><langSec xml:lang="en"><termSec><term>beam management</term></termSec></langSec></conceptEntry>
</body></text></tbx>"""


def read(text, encoding="utf-8"):
    return list(entries_of(text.encode(encoding)))


names = st.text(st.characters(codec="utf-8"), max_size=30) | st.sampled_from(
    ["CA", "载波聚合", "carrier aggregation", "<b>&amp;", "キャリア"]
)


@settings(max_examples=examples(12), deadline=None)
@given(
    text=names,
    long_form=names,
    synonyms=st.lists(names, max_size=4),
    translations=st.lists(names, max_size=4),
    kind=st.sampled_from(LexiconTerm.Kind.values),
    language=st.sampled_from(LexiconTerm.Language.values),
    status=st.sampled_from(LexiconTerm.Status.values),
)
def test_a_term_comes_back_as_it_was_written(**values):
    try:
        kept = checked_values(values)
    except LexiconTermError:
        return  # not a term of any lexicon
    term = LexiconTerm(**kept)

    ((_line, found),) = entries_of(tbx_of([term], title="terms").encode())

    again = checked_values(found)
    assert {**again, "translations": sorted(again["translations"])} == {
        **kept,
        "translations": sorted(kept["translations"]),
    }
    assert set(FIELDS) <= set(kept)


def test_the_edition_of_2008_is_read_by_its_languages_and_kinds():
    ((line, values),) = read(HEAD + OLD)

    assert line == 4
    assert values == {
        "text": "CA",
        "kind": "abbreviation",
        "language": "en",
        "long_form": "carrier aggregation",
        "synonyms": ["channel bonding", "carrier bundling"],
        "translations": ["载波聚合"],
    }


def test_the_preferred_name_is_the_term_in_the_other_style_too():
    ((_line, values),) = read(HEAD + NEW)

    assert (values["text"], values["synonyms"], values["status"]) == ("波束管理", ["旧名"], "approved")
    assert (values["language"], values["translations"]) == ("zh", ["beam management"])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_the_encoding_is_the_one_that_the_file_names(encoding):
    head = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>\n'

    assert read(head + NEW, encoding)[0][1]["text"] == "波束管理"


def test_a_file_in_another_encoding_than_it_names_is_refused_with_the_line():
    with pytest.raises(LexiconTermError) as refused:
        read(HEAD + NEW, "gb18030")

    assert refused.value.reason == "tbx"
    assert "line 5" in str(refused.value)


BOMB = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(10))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (f"<!DOCTYPE tbx [{BOMB}]><tbx><body><conceptEntry>&l9;</conceptEntry></body></tbx>", "tbx_entities"),
        ('<!DOCTYPE tbx [<!ENTITY x SYSTEM "file:///etc/passwd">]><tbx><body>&x;</body></tbx>', "tbx_entities"),
        ('<!DOCTYPE tbx [<!ENTITY % p SYSTEM "http://localhost/x.dtd"> %p;]><tbx/>', "tbx_entities"),
        ("<!DOCTYPE tbx [<!ELEMENT tbx ANY>]><tbx/>", "tbx_entities"),
        ("<svg/>", "tbx_root"),
        ("<tbx><body>", "tbx"),
        ("<", "tbx"),
        ("<tbx>" + "<a>" * 100_000, "tbx"),
        ("<tbx>" + "x" * 10 * 1024 * 1024 + "</tbx>", "file_size"),
    ],
)
def test_files_that_do_harm_or_are_no_tbx_are_refused(content, reason):
    with pytest.raises(LexiconTermError) as refused:
        read(content)

    assert refused.value.reason == reason


@pytest.mark.django_db
def test_good_concepts_are_taken_faulty_ones_reported_and_the_export_changes_nothing(owner, common):
    content = f"""<tbx xmlns="urn:iso:std:iso:30042:ed-2"><text><body>
<conceptEntry><langSec xml:lang="en"><termSec><term>beam management</term></termSec></langSec></conceptEntry>
<conceptEntry><langSec xml:lang="en"><termSec><term> </term></termSec></langSec></conceptEntry>
<conceptEntry/>
<conceptEntry><langSec xml:lang="en"><termSec><term>{"x" * 201}</term></termSec></langSec></conceptEntry>
</body></text></tbx>"""
    options = {"scope": scope_of(owner), "actor": owner, "set_id": common.pk}

    done = lexicon_import(content=content.encode(), approve=False, **options)

    assert (done.added, [fault.line for fault in done.faults]) == (1, [3, 4, 5])
    assert LexiconTerm.objects.get().status == "candidate"
    text = lexicon_export(scope=scope_of(owner), set_id=common.pk, file_format="tbx")
    again = lexicon_import(content=text.encode(), **options)
    assert (again.added, again.changed, again.same, again.faults) == (0, 0, 1, ())
