"""Answers that were looked at once for a case without a complaint."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0010_shared_links"),
        ("feedback", "0006_triage"),
    ]

    operations = [
        migrations.CreateModel(
            name="AnswerCheck",
            fields=[
                (
                    "message",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="answer_check",
                        serialize=False,
                        to="chat.message",
                    ),
                ),
                ("at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
    ]
