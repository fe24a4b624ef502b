import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

STATES = [("open", "Open"), ("in_work", "In progress"), ("closed", "Closed")]


class Migration(migrations.Migration):
    dependencies = [
        ("feedback", "0002_wording"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="CaseMove",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("before", models.CharField(choices=STATES, max_length=8)),
                ("after", models.CharField(choices=STATES, max_length=8)),
                ("note", models.TextField(blank=True)),
                ("at", models.DateTimeField(auto_now_add=True)),
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="moves", to="feedback.badcase"
                    ),
                ),
            ],
            options={"ordering": ["-pk"]},
        ),
    ]
