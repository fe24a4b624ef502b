import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    """How far a set's own line of refusals lies below the shipped one."""

    dependencies = [("knowledge", "0043_sampled_words_of_triples")]

    operations = [
        migrations.CreateModel(
            name="RefusalLine",
            fields=[
                (
                    "knowledge_set",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="refusal_line",
                        serialize=False,
                        to="knowledge.knowledgeset",
                    ),
                ),
                ("lowered", models.FloatField(default=0)),
                ("questions", models.PositiveIntegerField(default=0)),
                ("passages", models.PositiveIntegerField(default=0)),
                ("documents", models.PositiveIntegerField(default=0)),
                ("embedder", models.CharField(blank=True, max_length=128)),
                ("drawn", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
    ]
