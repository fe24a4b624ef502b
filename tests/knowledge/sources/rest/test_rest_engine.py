"""REST sources that somebody describes, and systems that do not answer as they should."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest

from knowledge.connectors.items import Item, UnreadableItem
from knowledge.connectors.rest import listing
from knowledge.connectors.rest.client import LONGEST_WAIT_SECONDS, retry_after_seconds
from knowledge.connectors.rest.documents import readers_of, safe_name
from knowledge.rest_errors import RestAnswerError, RestBusyError, RestDescriptionError
from knowledge.services.sources import source_preview, source_update
from knowledge.services.sources.connectors import connector_of
from ragcore.errors import InvalidOptionsError, UrlNotAllowedError, UrlTooLargeError
from tests.factories import scope_of
from tests.knowledge.sources.building import counts, here, run
from tests.knowledge.sources.rest.serving import Call, Reply, serving

pytestmark = pytest.mark.django_db(transaction=False)

COURSES = """
label = { en = "Courses", zh = "课程" }
sign_in = ["none", "bearer"]
failed = "error"

[[parameters]]
name = "school"
label = "school"
default = "radio"

[[lists]]
name = "courses"
request = { address = "/schools/{school}/courses", items = "items", paging = PAGING }
id = "code"
title = "{item.name}"
text = "<p>{item.about}</p>{item.notes as markdown}"
version = "rev"
[lists.attachments]
items = "files"
id = "id"
name = "name"
size = "bytes"
file = "{item.at}"
"""
BY_NUMBER = '{ kind = "page", parameter = "page", first = 1 }'
BY_LINK = '{ kind = "next", next = "next" }'
BY_TOTAL = '{ kind = "offset", parameter = "from", total = "total" }'


def described(paging: str = BY_NUMBER) -> str:
    return COURSES.replace("PAGING", paging)


def course(code: str, name: str = "Beams", **more: Any) -> dict[str, Any]:
    return {"code": code, "name": name, "about": f"About {code}.", "rev": 1, **more}


def pages(*all_pages: list[Any]):
    """Courses by page number; an empty page behind the last one."""

    def answer(call: Call) -> Any:
        number = int(call.query.get("page", 1))
        return {"items": all_pages[number - 1] if number <= len(all_pages) else []}

    return answer


@pytest.fixture
def course_source(connected):
    def make(address: str, paging: str = BY_NUMBER, **values: Any):
        settings = {"description": described(paging), **values.pop("settings", {})}
        return connected("rest", address, settings=settings, options={"delete_missing": True}, **values)

    return make


def fault_of(job) -> dict[str, Any]:
    return job.report["faults"][0]


# ── a description of one's own ──────────────────────────────────────────────────────────────────


def test_a_system_that_somebody_describes_is_read(owner, course_source):
    def answer(call: Call) -> Any:
        assert call.path == "/schools/music/courses"
        return pages([course("a", notes="**Bring** a pen.")], [course("b", "Paging")])(call)

    with serving(answer) as address:
        source = course_source(address, settings={"parameters": ["school = music"]})

        assert counts(run(owner, source)) == {"found": 2, "new": 2}
        (item,) = [one for one in connector_of(source).changes({}) if getattr(one, "external_id", "") == "courses/a"]

    text = item.read({}).content.decode()
    assert "<p>About a.</p>" in text
    assert "<strong>Bring</strong>" in text
    assert here(source) == ["courses/a", "courses/b"]


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ("", "Paste a description"),
        ("label = ", "not TOML"),
        ('label = "x"\nsign_in = ["none"]\nlists = []', "Line 3, lists: A description needs at least one list"),
        (described().replace('id = "code"', 'id = "code["'), "lists.courses.id: “code[”"),
        (described().replace("as markdown", "as prose"), "no format “prose”"),
        (described().replace('version = "rev"', 'verson = "rev"'), "verson"),
        (
            described('{ kind = "cursor" }'),
            "Line 13, lists.courses.request.paging: Paging by “cursor” needs “parameter”",
        ),
        (
            described().replace("[lists.attachments]", 'file = "/x"\n[lists.attachments]'),
            "lists.courses: A list needs either “text”",
        ),
        (described() + "x" * 20_000, "20000 characters"),
        (
            described().replace('["none", "bearer"]', '["header"]'),
            "Line 3, sign_in: “header” needs the name of the header",
        ),
    ],
)
def test_a_faulty_description_is_refused_with_the_place_of_the_fault(connected, description, words):
    with pytest.raises((RestDescriptionError, InvalidOptionsError), match=re.escape(words)):
        connected("rest", "https://courses.example.com", settings={"description": description})


def test_a_parameter_that_the_description_does_not_have_is_refused(course_source):
    with pytest.raises(RestDescriptionError, match="no parameter 'scool'"):
        course_source("https://courses.example.com", settings={"parameters": ["scool = music"]})


@pytest.mark.parametrize("location", ["http://127.0.0.1:9/x", "http://169.254.169.254/latest"])
def test_private_addresses_need_a_released_host(course_source, settings, location):
    settings.FETCH_ALLOWED_HOSTS = ()

    with pytest.raises(UrlNotAllowedError):
        course_source(location)


def test_another_description_makes_other_texts(owner, course_source):
    with serving(pages([course("a")])) as address:
        source = course_source(address)
        run(owner, source)
        text = described().replace("<p>{item.about}</p>", "<p>On {item.name}: {item.about}</p>")
        source = source_update(
            scope=scope_of(owner), actor=owner, source_id=source.pk, values={"settings": {"description": text}}
        )

        assert counts(run(owner, source)) == {"found": 1, "changed": 1}


# ── systems that do not answer as they should ───────────────────────────────────────────────────


def test_a_source_that_is_empty_today_loses_nothing(owner, course_source):
    shelves = [[course("a")]]
    with serving(lambda call: pages(*shelves)(call)) as address:
        source = course_source(address)
        run(owner, source)
        shelves.clear()

        job = run(owner, source)

    assert job.report["notes"][0]["code"] == "not_deleted"
    assert here(source) == ["courses/a"]


def test_a_page_in_the_place_of_data_is_said_and_nothing_is_lost(owner, course_source):
    answers: list[Any] = [None]
    page = Reply(body=b"<html><title>Sign in</title></html>", headers={"Content-Type": "text/html"})
    with serving(lambda call: answers[0] or pages([course("a")])(call)) as address:
        source = course_source(address)
        run(owner, source)
        answers[0] = page

        job = run(owner, source)

    assert fault_of(job)["code"] == RestAnswerError.code
    assert "sign-in" in fault_of(job)["message"]
    assert here(source) == ["courses/a"]


def test_an_error_that_comes_with_a_good_status_is_said(owner, course_source):
    with serving(lambda call: {"error": "The licence has ended."}) as address:
        job = run(owner, course_source(address))

    assert "The licence has ended." in fault_of(job)["message"]


def test_an_answer_without_the_list_is_said(owner, course_source):
    with serving(lambda call: {"entries": []}) as address:
        job = run(owner, course_source(address))

    assert "has no list at “items”" in fault_of(job)["message"]


@pytest.mark.parametrize("paging", [BY_NUMBER, BY_LINK])
def test_pages_that_repeat_themselves_end_the_list_and_delete_nothing(owner, course_source, paging):
    shelf = [course("a"), course("b")]
    with serving(lambda call: {"items": shelf, "next": "/schools/radio/courses?p=1"}) as address:
        source = course_source(address, paging)
        run(owner, source)
        shelf.pop()

        job = run(owner, source)

    assert [refused["data"]["reason"] for refused in job.report["refused"]] == ["loop"]
    assert here(source) == ["courses/a", "courses/b"]


def test_a_server_that_gives_fewer_than_were_asked_for_is_read_to_its_end(owner, course_source):
    shelf = [course(str(number)) for number in range(5)]

    def answer(call: Call) -> Any:
        begin = int(call.query["from"])
        return {"items": shelf[begin : begin + 2], "total": 5}

    with serving(answer) as address:
        assert counts(run(owner, course_source(address, BY_TOTAL)))["new"] == 5


def test_what_comes_again_on_the_next_page_is_one_document(owner, course_source):
    with serving(pages([course("a"), course("b")], [course("b"), course("c")])) as address:
        job = run(owner, course_source(address))

    assert counts(job) == {"found": 3, "new": 3}


def test_two_objects_of_one_id_are_refused_and_of_one_name_are_not(owner, course_source):
    with serving(pages([course("a"), course("a", "Other"), course("b"), {"name": "Nameless"}])) as address:
        source = course_source(address)
        job = run(owner, source)

    assert [refused["data"]["reason"] for refused in job.report["refused"]] == ["same_id", "no_id"]
    assert here(source) == ["courses/a", "courses/b"]


def test_other_ids_for_the_same_objects_are_other_documents(owner, course_source):
    shelf = [[course(f"a{number}", f"Course {number}") for number in range(3)]]
    with serving(lambda call: pages(*shelf)(call)) as address:
        source = course_source(address)
        run(owner, source)
        shelf[0] = [{**entry, "code": entry["code"].replace("a", "z")} for entry in shelf[0]]

        job = run(owner, source)

    assert counts(job) == {"found": 3, "new": 3, "deleted": 3}
    assert here(source) == ["courses/z0", "courses/z1", "courses/z2"]


@pytest.mark.parametrize(
    "name",
    ["寻呼", "пейджинг", "ナロービーム", "الإشعار", "a/../../etc/passwd", "‮gnp.exe", "x" * 400, "...", "Ω:<>|?*\x00"],
)
def test_names_in_every_script_become_file_names(name):
    safe = safe_name(name)

    assert 0 < len(safe) <= 120
    assert not set(safe) & set('/\\:<>|?*"\x00‮')
    assert not safe.startswith(".")


def test_a_redirect_into_the_own_network_is_refused(owner, course_source, settings):
    settings.FETCH_ALLOWED_HOSTS = ("127.0.0.1",)
    with serving(lambda call: Reply(status=302, headers={"Location": "http://169.254.169.254/latest"})) as address:
        job = run(owner, course_source(address))

    assert fault_of(job)["code"] == UrlNotAllowedError.code


def test_credentials_go_to_no_other_host(owner, course_source):
    signed: list[str] = []

    def other(call: Call) -> Any:
        signed.append(call.headers.get("authorization", ""))
        return {"items": [course("a")]} if call.query.get("page") == "1" else {"items": []}

    with serving(other) as there:
        redirect = lambda call: Reply(status=307, headers={"Location": f"{there}{call.raw_path}"})  # noqa: E731
        with serving(redirect) as address:
            source = course_source(address, credentials={"token": "of the owner"})
            job = run(owner, source)

    assert counts(job)["new"] == 1
    assert set(signed) == {""}


def test_large_and_unreadable_files_are_refused_before_they_are_fetched(owner, course_source):
    log: list[str] = []

    def answer(call: Call) -> Any:
        log.append(call.path)
        if call.path == "/hidden.txt":  # says nothing of its size before it is asked for
            return Reply(body=b"x", headers={"Content-Length": str(5 * 1024**3)})
        files = [
            {"id": "1", "name": "film.txt", "bytes": 5 * 1024**3, "at": "/film.txt"},
            {"id": "2", "name": "film.mp4", "bytes": 10, "at": "/film.mp4"},
            {"id": "3", "name": "hidden.txt", "at": "/hidden.txt"},
        ]
        return pages([course("a", files=files)])(call)

    with serving(answer) as address:
        source = course_source(address)
        job = run(owner, source)

    codes = {refused["path"]: refused["code"] for refused in job.report["refused"]}
    too_large = UrlTooLargeError.code
    assert codes == {"courses/a/1": too_large, "courses/a/2": "unsupported_format", "courses/a/3": too_large}
    assert "/film.txt" not in log
    assert "/film.mp4" not in log
    assert here(source) == ["courses/a"]


# ── waiting ─────────────────────────────────────────────────────────────────────────────────────


def test_a_busy_system_is_asked_again_when_it_says(owner, course_source, waits):
    replies = [Reply(status=429, headers={"Retry-After": "7"}), Reply(status=503)]
    with serving(lambda call: replies.pop(0) if replies else pages([course("a")])(call)) as address:
        job = run(owner, course_source(address))

    assert waits == [7.0, 2.0]
    assert counts(job)["new"] == 1


def test_a_system_that_asks_for_an_hour_is_left_until_the_next_run(owner, course_source, waits):
    with serving(lambda call: Reply(status=429, headers={"Retry-After": "3600"})) as address:
        job = run(owner, course_source(address))

    assert fault_of(job)["code"] == RestBusyError.code
    assert "3600 seconds" in fault_of(job)["message"]
    assert waits == []
    assert LONGEST_WAIT_SECONDS < 60


@pytest.mark.parametrize(("text", "seconds"), [("5", 5.0), ("", None), ("soon", None), ("-3", None)])
def test_retry_after_in_its_forms(text, seconds):
    assert retry_after_seconds(text) == seconds
    assert retry_after_seconds("Wed, 01 Jan 2020 00:00:00 GMT") == 0.0


# ── parts ───────────────────────────────────────────────────────────────────────────────────────


def test_what_would_come_in_is_counted(owner, course_source):
    with serving(pages([course("a")], [course("b")])) as address:
        preview = source_preview(scope=scope_of(owner), source_id=course_source(address).pk)

    assert (preview.count, preview.is_complete, preview.examples) == (2, True, ("courses/a", "courses/b"))


def test_a_wrong_address_is_said_before_the_first_run(owner, course_source):
    with serving(lambda call: Reply(status=404)) as address, pytest.raises(RestAnswerError, match="nothing at"):
        source_preview(scope=scope_of(owner), source_id=course_source(address).pk)


@pytest.mark.parametrize(
    ("value", "readers"),
    [
        (None, None),
        ([], None),
        ([[], []], None),
        (["user:mei"], ("user:mei",)),
        ([["user:mei", "group:radio"], [], ["group:radio"]], ("group:radio",)),
        ([["user:mei"], ["user:li"]], ()),
    ],
)
def test_of_several_lists_of_readers_those_in_each_may_read(value, readers):
    assert readers_of(value) == readers


def test_a_tree_that_leads_back_to_itself_ends(connected):
    description = """
label = "Tree"
sign_in = ["none"]
[[lists]]
name = "nodes"
id = "id"
title = "{item.id}"
text = "{item.id}"
request = { address = "/nodes", items = "nodes" }
children = { when = "has_child", query = { parent = "{item.id}" } }
"""

    def answer(call: Call) -> Any:
        own_id = {"": "a", "a": "b", "b": "a"}[call.query.get("parent", "")]
        return {"nodes": [{"id": own_id, "has_child": True}]}

    with serving(answer) as address:
        source = connected("rest", address, settings={"description": description})
        listed = [one for one in connector_of(source).changes({}) if isinstance(one, (Item, UnreadableItem))]

    assert [one.external_id for one in listed] == ["nodes/a", "nodes/b"]


def test_a_delta_that_the_system_forgot_is_read_all_over(connected):
    description = """
label = "Delta"
sign_in = ["none"]
[[lists]]
name = "files"
id = "id"
title = "{item.id}"
text = "{item.id}"
request = { address = "/all", items = "value", paging = { kind = "delta", next = "next", delta = "delta" } }
"""

    def answer(call: Call) -> Any:
        return Reply(status=410) if call.path == "/old" else {"value": [{"id": "a"}], "delta": "/new"}

    with serving(answer) as address:
        source = connected("rest", address, settings={"description": description})
        full = listing.now() - timedelta(hours=1)
        cursor = {"full": full.isoformat(), "lists": {"files": {"delta": "/old"}}}
        *items, end = connector_of(source).changes(cursor)

    assert [item.external_id for item in items] == ["files/a"]
    assert end.cursor["lists"] == {"files": {"delta": "/new"}}


def test_the_description_of_the_documentation_reads_the_answer_that_stands_there(settings, connected):
    page = (settings.BASE_DIR / "docs" / "rest-sources.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (answered,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)

    def answer(call: Call) -> Any:
        match call.path:
            case "/api/radio/courses":
                assert call.query["limit"] == "50"
                return json.loads(answered) if call.query["page"] == "1" else {"data": {"courses": []}}
            case "/api/courses/B1":
                return {"description": "About **beams**."}
            case "/api/courses/B1/comments":
                return {"comments": [{"text": "Good.", "by": "Li", "at": "2026-03-02T00:00:00Z"}]}
        return None

    with serving(answer) as address:
        source = connected("rest", address, settings={"description": example})
        item, end = connector_of(source).changes({})
        text = item.read({}).content.decode()

    assert len(example.splitlines()) <= 60
    assert (item.external_id, item.title) == ("courses/B1", "Beams")
    assert "About <strong>beams</strong>." in text
    assert "Li, 2026-03-02" in text
    assert end.cursor["lists"] == {"courses": {"since": "2026-03-01T08:00:00+00:00"}}
