"""The page, the REST resource and the command of background work: who sees which jobs, and what they may do."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import translation

from accounts.models import AuditEvent
from accounts.people.leaving import person_leave
from tests.admin.conftest import signed_in
from tests.factories import make_admin, make_tenant, make_user
from tests.work.contract import work_off
from tests.work.counting import Counting, count_to, numbers
from work.models import Job

pytestmark = pytest.mark.django_db
LIST = "/api/v1/background-jobs"


@pytest.fixture
def admin():
    return make_admin("admin")


def page_of(person, job):
    return signed_in(person).get(reverse("admin:work_job_change", args=[job.pk]))


def step(person, job, name):
    return signed_in(person).post(reverse("admin:work_job_step", args=[job.pk, name]))


def broken(job):
    """Failed after its first number."""

    def fail():
        raise ZeroDivisionError

    Counting.meanwhile[2] = fail
    return work_off(job)


# ── the page ────────────────────────────────────────────────────────────────────────────────────


def test_the_page_lists_kind_subject_state_progress_author_and_error(admin):
    broken(count_to(4, subject="four", author=admin))

    text = signed_in(admin).get(reverse("admin:work_job_changelist")).content.decode()

    for words in ("Counting", "four", "Failed", "1 of 4", "admin", "Something went wrong. It has been logged."):
        assert words in text


def test_the_page_of_a_job_shows_what_its_kind_says_and_offers_what_is_possible(admin, monkeypatch):
    monkeypatch.setattr(Counting, "panel", lambda self, job: [("Last number", job.figures["last"])])
    job = broken(count_to(4, author=admin))

    text = page_of(admin, job).content.decode()

    assert "Last number: 1" in text
    assert "Failed" in text
    assert "&#x27;failed&#x27;" not in text  # the key of a label
    offered = [name for name in ("pause", "resume", "cancel", "retry") if f"/{name}/now/" in text]
    assert offered == ["retry"]


def test_a_job_is_paused_resumed_cancelled_and_tried_again_and_each_is_recorded(admin):
    job = count_to(3, author=admin)
    states = []

    for name in ("pause", "resume", "cancel", "retry"):
        assert step(admin, job, name).status_code == 302
        job.refresh_from_db()
        states.append(job.state)

    assert states == ["paused", "queued", "cancelled", "queued"]
    events = AuditEvent.objects.filter(action__startswith="work.").order_by("pk").values_list("action", flat=True)
    assert list(events) == ["work.pause", "work.resume", "work.cancel", "work.retry"]
    assert numbers(work_off(job)) == [1, 2, 3]


def test_what_is_not_possible_is_said_and_changes_nothing(admin):
    job = work_off(count_to(1, author=admin))
    client = signed_in(admin)

    answer = client.post(reverse("admin:work_job_step", args=[job.pk, "pause"]), follow=True)

    assert "The job is in a state in which this is not possible." in answer.content.decode()
    job.refresh_from_db()
    assert job.state == "done"


def test_a_job_is_not_tried_again_beside_another_one_of_its_subject(admin):
    failed = broken(count_to(3, author=admin))
    count_to(3, author=admin)
    client = signed_in(admin)

    answer = client.post(reverse("admin:work_job_step", args=[failed.pk, "retry"]), follow=True)

    assert "Work of this kind is already waiting or running." in answer.content.decode()


def test_only_administrators_open_the_page_and_only_for_their_tenant(admin):
    job = count_to(1, author=admin)
    staff = make_user("staff", is_staff=True)
    other = make_admin("other", tenant=make_tenant("other"))

    assert page_of(staff, job).status_code == 403
    assert step(staff, job, "cancel").status_code == 403
    assert page_of(other, job).status_code == 302  # "not found", to the list
    step(other, job, "cancel")

    job.refresh_from_db()
    assert job.state == "queued"
    assert signed_in(admin).get(reverse("admin:work_job_step", args=[job.pk, "cancel"])).status_code == 405
    assert signed_in(admin).post(reverse("admin:work_job_step", args=[job.pk, "nothing"])).status_code == 404


def test_the_page_is_chinese_for_chinese_readers(admin):
    job = broken(count_to(4, author=admin))
    client = signed_in(admin)

    with translation.override("zh-hans"):
        pages = [
            client.get(address, HTTP_ACCEPT_LANGUAGE="zh-CN").content.decode()
            for address in (reverse("admin:work_job_changelist"), reverse("admin:work_job_change", args=[job.pk]))
        ]

    assert all("后台任务" in page and "Background" not in page for page in pages)
    assert "重试" in pages[1]


# ── the resource ────────────────────────────────────────────────────────────────────────────────


def test_people_read_and_cancel_their_own_jobs(admin):
    author, other = make_user("author"), make_user("other")
    job = count_to(2, subject="two", author=author)
    count_to(2, author=admin)

    rows = signed_in(author).get(LIST).json()
    assert [row["id"] for row in rows["results"]] == [job.pk]
    assert rows["results"][0] | {"created": "", "figures": {}} == {
        "id": job.pk,
        "kind": "test.count",
        "subject": "two",
        "state": "queued",
        "done": 0,
        "total": 2,
        "figures": {},
        "error": None,
        "created": "",
        "started": None,
        "finished": None,
    }
    assert signed_in(other).post(f"{LIST}/{job.pk}/cancel").status_code == 404
    assert signed_in(author).post(f"{LIST}/{job.pk}/cancel").json()["state"] == "cancelled"
    assert signed_in(author).post(f"{LIST}/{job.pk}/cancel").json()["error"]["code"] == "job_state"
    assert signed_in(author).get(LIST, {"state": "queued"}).json()["count"] == 0
    assert signed_in(admin).get(LIST, {"kind": "test.count"}).json()["count"] == 2


def test_the_error_of_a_job_is_said_with_its_code(admin):
    job = broken(count_to(2, author=admin))

    error = signed_in(admin).get(f"{LIST}/{job.pk}").json()["error"]

    assert error == {"code": "internal", "message": "Something went wrong. It has been logged."}


# ── the command ─────────────────────────────────────────────────────────────────────────────────


def command(*words):
    out = StringIO()
    call_command("background_work", *words, stdout=out)
    return out.getvalue()


def test_the_command_lists_and_steps(admin):
    job = count_to(3, subject="three", author=admin)

    assert command("list").split() == [str(job.pk), "Counting", "three", "queued", "0", "of", "3"]
    assert "paused" in command("pause", str(job.pk))
    assert "queued" in command("resume", str(job.pk))
    assert "done" in command("run", str(job.pk))
    assert command("list") == ""
    assert "done" in command("list", "--all")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("pause",), "Say which job"),
        (("pause", "999999"), "not_found"),
        (("run", "999999"), "There is no job"),
        (("list", "--user", "nobody"), "no user"),
    ],
)
def test_the_command_says_what_is_wrong(admin, words, said):
    with pytest.raises(CommandError, match=said):
        command(*words)


# ── people who leave ────────────────────────────────────────────────────────────────────────────


def test_the_work_of_a_person_ends_with_the_account(admin):
    author = make_user("author")
    job = count_to(3, author=author)

    person_leave(user=author, actor=admin)

    job.refresh_from_db()
    assert (job.state, Job.objects.filter(state="queued").count()) == ("cancelled", 0)
    assert AuditEvent.objects.filter(action="work.cancel", target="test.count").exists()


def test_work_for_everybody_goes_on_when_the_account_is_closed(admin, monkeypatch):
    monkeypatch.setattr(Counting, "ends_with_author", False)
    author = make_user("author")
    job = count_to(3, author=author)

    person_leave(user=author, actor=admin)

    assert (work_off(job).state, numbers(job)) == ("done", [1, 2, 3])
