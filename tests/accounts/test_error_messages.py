"""Errors are told in the language of who reads them, also those that were stored by another version."""

from __future__ import annotations

import pytest
from django.utils import translation

from accounts.error_messages import error_message, stored_message
from accounts.errors import NotFoundError
from chat.error_messages import answer_html
from chat.errors import TurnRefusedError
from chat.models import Message
from knowledge.errors import ItemsRefusedError, NothingTakenError, SupersededError, UnknownPeopleError
from ragcore.errors import CorruptDocumentError, EmptyDocumentError, InvalidOptionsError, PasswordProtectedError
from ragcore.grounding.support import REASONS


@pytest.fixture
def chinese():
    with translation.override("zh-hans"):
        yield


def test_an_error_says_the_same_in_english_as_in_its_message():
    error = NotFoundError("document", document=4711)

    with translation.override("en"):
        assert error_message(error) == error.message == "There is no document 4711, or you may not see it."


def test_what_is_filled_in_survives_the_change_of_language(chinese):
    assert error_message(NotFoundError("document", document=4711)) == "没有编号为 4711 的文档，或您无权查看。"
    assert error_message(UnknownPeopleError("owner", field="owner", unknown=["lin"])) == "没有名为 lin 的负责人。"


def test_a_number_decides_the_form():
    with translation.override("en"):
        assert error_message(ItemsRefusedError("count", count=1)) == "1 item of the source could not be imported."
        assert error_message(ItemsRefusedError("count", count=7)) == "7 items of the source could not be imported."


def test_a_percent_sign_in_the_data_is_no_placeholder(chinese):
    assert "100 %(x)s" in error_message(NotFoundError("named_golden_set", name="100 %(x)s"))


def test_an_error_within_an_error_is_translated_too(chinese):
    error = NothingTakenError("first", cause=EmptyDocumentError("no_bytes"))

    assert error_message(error) == "压缩包中没有可以收录的文件：文件是空的（0 字节）。"


def test_a_stored_error_is_translated_by_its_code_and_data(chinese):
    error = SupersededError("replaced", title="Release 17")

    assert stored_message(error.code, error.message, error.message_data()) == "已被同系列中更新的“Release 17”取代。"


def test_stored_data_holds_what_the_sentence_says_and_nothing_else():
    error = CorruptDocumentError("binary", name="secret.txt")

    assert error.message_data() == {"reason": "binary"}
    assert PasswordProtectedError(name="a.pdf").message_data() == {}
    assert SupersededError("replaced", title="a\0\udcffb").message_data()["title"] == "a?b"


def test_a_reason_that_no_class_declares_is_an_error_of_ours():
    with pytest.raises(KeyError):
        InvalidOptionsError("no such reason")


@pytest.mark.parametrize(
    ("code", "message", "shown"),
    [
        ("empty_document", "The document contains no text.", "文档中没有文字。"),
        ("password_protected", "The file is protected by a password. Remove it and upload the file again.", None),
        ("superseded", "Replaced by Plan B, a newer document of the same series.", ""),
        ("gone_code", "A sentence of an earlier version.", ""),
        ("", "", ""),
    ],
)
def test_a_row_of_an_earlier_version_has_no_data_and_still_reads_well(chinese, code, message, shown):
    read = stored_message(code, message, {})

    if shown is None:  # another sentence by now
        assert read == error_message(PasswordProtectedError())
    else:
        assert read == (shown or message)


def test_data_of_a_later_version_falls_back_to_the_text(chinese):
    assert stored_message("superseded", "Some text.", {"reason": "unknown_here"}) == "Some text."
    assert "?" in stored_message("superseded", "Some text.", {"reason": "replaced"})


def test_an_error_that_ended_a_turn_elsewhere_is_translated_here(chinese):
    there = NotFoundError("set", set=7)
    here = TurnRefusedError(there.code, there.message, message_data=there.message_data())

    assert error_message(here) == error_message(there) == "没有编号为 7 的知识集。"


def test_reasons_beside_sentences_of_an_answer_are_translated_and_stay_safe(chinese):
    reason = 'These figures stand in no source: "<b>7.'
    data = {"reason": "figures", "figures": '"<b>7'}
    markup = (
        '<span data-support-reason="These figures stand in no source: &quot;&lt;b&gt;7.">x</span>'
        '<span data-support-reason="The cited source does not say this.">y</span>'
    )

    shown = answer_html(Message(answer_html=markup, sentences=[{"reason": reason, "reason_data": data}]))
    old = answer_html(Message(answer_html=markup, sentences=[{"reason": reason}]))

    assert "这些数字在来源中找不到：&quot;&lt;b&gt;7。" in shown
    assert "所引来源中没有这个说法。" in shown
    assert "<b>" not in shown
    assert "These figures stand in no source: &quot;&lt;b&gt;7." in old
    assert set(REASONS) == {"similar", "figures"}
