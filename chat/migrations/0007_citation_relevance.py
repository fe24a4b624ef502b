"""That a source answers the question, apart from how well the answer rests on it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0006_message_created")]

    operations = [
        migrations.AddField(
            model_name="messagecitation",
            name="relevance",
            field=models.FloatField(blank=True, null=True),
        ),
    ]
