"""Versions of answers: turns are a tree. What was asked before stands in one line."""

import django.db.models.deletion
from django.db import migrations, models

IN_ONE_LINE = """
UPDATE chat_message AS turn SET parent_id = line.parent_id FROM (
    SELECT id, lag(id) OVER (PARTITION BY conversation_id ORDER BY created, id) AS parent_id FROM chat_message
) AS line WHERE line.id = turn.id AND line.parent_id IS NOT NULL;
UPDATE chat_conversation AS talk SET leaf_id = last.id FROM (
    SELECT DISTINCT ON (conversation_id) id, conversation_id FROM chat_message ORDER BY conversation_id, created DESC, id DESC
) AS last WHERE last.conversation_id = talk.id;
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
"""


class Migration(migrations.Migration):
    dependencies = [("chat", "0007_citation_relevance")]

    operations = [
        migrations.AddField(
            model_name="message",
            name="parent",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="chat.message",
            ),
        ),
        migrations.AddField(
            model_name="conversation",
            name="leaf",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="chat.message",
            ),
        ),
        migrations.RunSQL(IN_ONE_LINE, migrations.RunSQL.noop),
    ]
