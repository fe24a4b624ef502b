"""Announcements above the chat: who sees which, in which language, until when, and who dismissed it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone, translation

from accounts.models import AuditEvent
from accounts.selectors import scope_for
from chat.announcements.banner import announcements_shown
from chat.models import Announcement, AnnouncementDismissal
from chat.rendering import render_notice
from tests.admin.conftest import signed_in
from tests.factories import make_admin, make_tenant, make_user

FORM = {
    "text": "Down **tonight**",
    "text_zh": "今晚停机",
    "level": "warning",
    "is_active": "on",
    "is_dismissible": "on",
}


def announce(tenant, text="Hello", **values):
    return Announcement.objects.create(tenant=tenant, text=text, **values)


def shown(user) -> list[str]:
    return [one.html.strip() for one in announcements_shown(scope=scope_for(user))]


def dismiss(user, row):
    return signed_in(user).post(reverse("chat:announcement_dismiss", args=[row.pk])).status_code


def test_everybody_of_the_tenant_sees_what_is_on_now_the_most_urgent_first(db):
    user, now, hour = make_user(), timezone.now(), timedelta(hours=1)
    announce(user.tenant, "plain")
    announce(user.tenant, "urgent", level="urgent", begins=now - hour, ends=now + hour)
    announce(user.tenant, "later", begins=now + hour)
    announce(user.tenant, "over", ends=now - hour)
    announce(user.tenant, "off", is_active=False)
    announce(make_tenant(), "of others")

    assert shown(user) == ["<p>urgent</p>", "<p>plain</p>"]
    assert "urgent" in signed_in(user).get("/").content.decode()


def test_the_readers_language_is_used_where_something_is_written_in_it(db):
    user = make_user()
    announce(user.tenant, "both", text_zh="两种")
    announce(user.tenant, "one")
    announce(user.tenant, "", text_zh="只有中文")

    with translation.override("zh-hans"):
        chinese = announcements_shown(scope=scope_for(user))
    english = announcements_shown(scope=scope_for(user))

    assert [(one.html.strip(), one.lang) for one in chinese] == [
        ("<p>只有中文</p>", "zh-Hans"),
        ("<p>one</p>", "en"),
        ("<p>两种</p>", "zh-Hans"),
    ]
    assert [one.html.strip() for one in english] == ["<p>只有中文</p>", "<p>one</p>", "<p>both</p>"]


def test_it_is_dismissed_by_one_person_until_its_words_change(db):
    user, colleague, admin = make_user(), make_user(), make_admin()
    row = announce(user.tenant, "first")

    assert [dismiss(user, row), dismiss(user, row)] == [204, 204]
    assert (shown(user), shown(colleague)) == ([], ["<p>first</p>"])

    address = reverse("admin:chat_announcement_change", args=[row.pk])
    values = {**FORM, "text": "first", "text_zh": "", "level": "info", "tenant": row.tenant_id}
    signed_in(admin).post(address, {**values, "ends": "2099-01-01T00:00"})
    assert shown(user) == []
    signed_in(admin).post(address, {**values, "text": "second"})
    assert shown(user) == ["<p>second</p>"]
    assert AuditEvent.objects.filter(action="announcement.change").count() == 2


def test_what_cannot_be_dismissed_or_is_not_there_is_not_found(db):
    user = make_user()
    fixed, foreign = announce(user.tenant, is_dismissible=False), announce(make_tenant())

    assert [dismiss(user, row) for row in (fixed, foreign)] == [404, 404]
    assert not AnnouncementDismissal.objects.exists()


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (
            "**Now**: [help](https://x.org/a?b=1&c)",
            '<p><strong>Now</strong>: <a href="https://x.org/a?b=1&amp;c" rel="noopener noreferrer">help</a></p>',
        ),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        (
            "![p](https://x.org/p.png) [l](https://x.org/p.png)",
            '<p> <a href="https://x.org/p.png" rel="noopener noreferrer">l</a></p>',
        ),
        ("# Title", "Title"),
        ("", ""),
    ],
)
def test_words_are_rendered_safely(text, html):
    assert render_notice(text).strip() == html


def test_administrators_write_announcements_of_their_tenant_only(db):
    admin = make_admin(tenant=make_tenant())
    other = make_tenant()

    answer = signed_in(admin).post(reverse("admin:chat_announcement_add"), {**FORM, "tenant": other.pk})

    assert answer.status_code == 302, answer.context["adminform"].form.errors
    assert Announcement.objects.get().tenant == admin.tenant
    page = signed_in(admin).get(reverse("admin:chat_announcement_changelist")).content.decode()
    assert "Down **tonight**" in page
    foreign = announce(other)
    assert signed_in(admin).get(reverse("admin:chat_announcement_change", args=[foreign.pk])).status_code == 302
    staff = make_user(is_staff=True)
    assert signed_in(staff).get(reverse("admin:chat_announcement_changelist")).status_code == 403


def test_an_announcement_says_something_and_ends_after_it_begins(db):
    admin = make_admin()
    values = {**FORM, "text": " ", "text_zh": "", "tenant": admin.tenant_id}
    values |= {"begins": "2099-01-02T00:00", "ends": "2099-01-01T00:00"}

    answer = signed_in(admin).post(reverse("admin:chat_announcement_add"), values)

    assert set(answer.context["adminform"].form.errors) == {"text", "ends"}


def test_deleting_is_recorded(db):
    admin = make_admin()
    row = announce(admin.tenant)

    signed_in(admin).post(reverse("admin:chat_announcement_delete", args=[row.pk]), {"post": "yes"})

    assert not Announcement.objects.exists()
    assert AuditEvent.objects.filter(action="announcement.delete", target="Hello").exists()
