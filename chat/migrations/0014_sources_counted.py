"""Answers remember how many sources they were made from, and passages of attached files which model made their vector."""

from django.db import migrations, models

COUNTED = """
UPDATE chat_message SET document_sources = counted.number
FROM (SELECT message_id, count(*) AS number FROM chat_messagecitation GROUP BY message_id) AS counted
WHERE counted.message_id = chat_message.id;
UPDATE chat_message SET file_sources = counted.number
FROM (SELECT message_id, count(*) AS number FROM chat_attachmentcitation GROUP BY message_id) AS counted
WHERE counted.message_id = chat_message.id;
UPDATE chat_message SET file_sources = 1
WHERE file_sources = 0 AND jsonb_typeof(request -> 'attachments') = 'array'
    AND jsonb_array_length(request -> 'attachments') > 0;
"""


class Migration(migrations.Migration):
    dependencies = [("chat", "0013_turn_figures")]

    operations = [
        migrations.AddField(
            model_name="message",
            name="document_sources",
            field=models.PositiveSmallIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name="message",
            name="file_sources",
            field=models.PositiveSmallIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name="attachmentpassage",
            name="model",
            field=models.CharField(db_default="", default="", max_length=255),
        ),
        migrations.RunSQL(COUNTED, migrations.RunSQL.noop),
    ]
