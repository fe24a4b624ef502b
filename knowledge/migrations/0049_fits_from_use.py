"""Fits of the reranker learn from votes and opened sources, too, where they are told to."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0048_words_in_rows")]

    operations = [
        migrations.AddField(
            model_name="rerankerfit",
            name="learns_from_use",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
