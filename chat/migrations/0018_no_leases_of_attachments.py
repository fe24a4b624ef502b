"""Claims, tries and signs of life of readings are those of their background jobs."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("chat", "0017_readings_as_jobs")]

    operations = [
        migrations.RemoveIndex("attachment", "chat_attachment_reading"),
        *(migrations.RemoveField("attachment", name) for name in ("alive", "attempts", "claim", "faults")),
    ]
