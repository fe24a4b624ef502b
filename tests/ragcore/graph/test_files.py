import pytest

from ragcore.graph.files import MAX_LINE_BYTES, LineFault, bounded_lines, read_triples
from ragcore.graph.triples import Triple

SCHIPHOL = Triple(subject="Schiphol", relation="location", object="Haarlemmermeer")


def read(text, form):
    content = text if isinstance(text, bytes) else text.encode()
    return list(read_triples(bounded_lines([content]), form))


def triples(text, form):
    return [one.triple for one in read(text, form) if not isinstance(one, LineFault)]


def faults(text, form):
    return [(one.line, one.code) for one in read(text, form) if isinstance(one, LineFault)]


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('{"subject": "Schiphol", "relation": "location", "object": "Haarlemmermeer"}', "jsonl"),
        ("subject,predicate,object\nSchiphol,location,Haarlemmermeer\n", "csv"),
        ("Schiphol;location;Haarlemmermeer\r\n", "csv"),
        ("object\trelation\tsubject\nHaarlemmermeer\tlocation\tSchiphol", "csv"),
        ("\ufeffsubject,relation,object\n\n,,\nSchiphol,location,Haarlemmermeer", "csv"),
        ("<http://x.org/Schiphol> <http://x.org/p#location> <http://x.org/Haarlemmermeer> .", "ntriples"),
        ('# a comment\n\n<http://x.org/Schiphol> <urn:p:location> "Haarlemmermeer"@nl . # more', "ntriples"),
    ],
)
def test_the_three_formats_say_the_same(text, form):
    assert triples(text, form) == [SCHIPHOL]
    assert faults(text, form) == []


def test_chinese_headings_types_and_sets_are_read():
    [row] = read("主语,关系,宾语,主语类型,set\n随机接入,属于,MAC 层,过程,7\n", "csv")

    assert (row.triple.subject, row.triple.subject_type, row.set_id, row.line) == ("随机接入", "过程", 7, 2)


def test_escapes_of_ntriples_and_quotes_of_csv_are_read():
    [one] = triples(
        r'<http://x.org/%E6%B5%8B> <http://x.org/says> "a \"b\" \u6d4b"^^<http://x.org/string> .', "ntriples"
    )
    [two] = triples('"A, B","says","one\ntwo ""x"""\n', "csv")

    assert (one.subject, one.object) == ("测", 'a "b" 测')
    assert (two.subject, two.object) == ("A, B", 'one two "x"')


@pytest.mark.parametrize(
    ("line", "form", "code"),
    [
        ("{", "jsonl", "not_json"),
        ("[1]", "jsonl", "not_an_object"),
        ('{"subject": "a", "relation": "b"}', "jsonl", "missing"),
        ('{"subject": "a", "relation": "b", "object": " "}', "jsonl", "missing"),
        ('{"subject": "a", "relation": "b", "object": {}}', "jsonl", "not_text"),
        ('{"subject": "a", "relation": "b", "object": "c", "note": 1}', "jsonl", "unknown_fields"),
        ('{"subject": "a", "relation": "b", "object": "c", "set": "x"}', "jsonl", "set"),
        ('{"subject": "\\ud800", "relation": "b", "object": "c"}', "jsonl", "not_text"),
        ("[" * 30_000, "jsonl", "not_json"),
        (f'{{"subject": "{"a" * 2001}", "relation": "b", "object": "c"}}', "jsonl", "name_too_long"),
        ("a,b", "csv", "columns"),
        ("<a> <b> .", "ntriples", "syntax"),
        ('<http://x/a> <http://x/b> "open .', "ntriples", "syntax"),
    ],
)
def test_a_faulty_line_is_named_and_the_next_one_is_read(line, form, code):
    good = {"jsonl": '{"subject":"a","relation":"b","object":"c"}', "csv": "a,b,c", "ntriples": "<a> <b> <c> ."}[form]

    assert faults(f"{good}\n{line}\n{good}\n", form) == [(2, code)]
    assert len(triples(f"{good}\n{line}\n{good}\n", form)) == 2


def test_a_literal_of_ten_megabytes_is_a_fault_and_is_never_held():
    huge = (
        b'{"subject":"a","relation":"b","object":"'
        + b"x" * (10 << 20)
        + b'"}\n{"subject":"a","relation":"b","object":"c"}'
    )
    pieces = (huge[at : at + 65_536] for at in range(0, len(huge), 65_536))

    lines = list(bounded_lines(pieces))

    assert [len(line) <= MAX_LINE_BYTES + 1 for line in lines] == [True, True]
    assert [one.code if isinstance(one, LineFault) else one.triple.object for one in read_triples(lines, "jsonl")] == [
        "too_long",
        "c",
    ]


def test_lines_in_another_encoding_are_faults_of_their_own():
    mixed = b"a,b,c\n" + "随机,属于,层\n".encode("gb18030") + "甲,乙,丙\n".encode()

    assert faults(mixed, "csv") == [(2, "encoding")]
    assert len(triples(mixed, "csv")) == 2


def test_names_like_sql_and_relations_in_two_languages_are_names():
    one = '{"subject":"SELECT","relation":"drop table","object":"\'; --"}'
    text = one + '\n{"subject":"甲","relation":"is 属于","object":"乙"}'

    assert [t.subject for t in triples(text, "jsonl")] == ["SELECT", "甲"]
