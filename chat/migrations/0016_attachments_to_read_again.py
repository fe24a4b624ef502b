"""A file says whether its person may have it read again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0015_fenced_attachments"), ("work", "0001_initial")]

    operations = [
        migrations.AddField("attachment", "can_retry", models.BooleanField(db_default=False, default=False)),
    ]
