"""What the chat page shows of a turn, as plain values."""

import pytest

from accounts.selectors import scope_for
from chat import pages
from chat.models import Conversation, Message
from tests.factories import make_user

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("forms", "shown"),
    [
        (["how long how long how long timer"], ["how long timer"]),
        (["随机接入步骤 随机接入步骤 随机接入步骤 前导码"], ["随机接入步骤 前导码"]),
        (["timer length", "timer length"], ["timer length"]),
        (["How long?", "How long? How long?"], []),
        ([""], []),
    ],
)
def test_other_forms_of_a_question_are_shown_without_the_repetitions_that_weigh_them(forms, shown):
    reader = make_user()
    talk = Conversation.objects.create(tenant=reader.tenant, user=reader, channel="web", title="t")
    message = Message.objects.create(
        conversation=talk, question="How long?", state="done", metadata={"rewritten_queries": forms}
    )

    turn = pages.turn(scope=scope_for(reader), message_id=message.pk)

    assert turn.forms == shown


def test_the_sources_stand_in_a_part_of_their_own_and_only_where_some_are_cited(client):
    reader = make_user()
    client.force_login(reader)
    talk = Conversation.objects.create(tenant=reader.tenant, user=reader, channel="web", title="t")
    Message.objects.create(conversation=talk, question="How long?", state="done", status="refused", answer="–")

    page = client.get(f"/c/{talk.pk}").content.decode()

    assert "turn-sources" not in page
    assert 'data-notice="refused"' in page
