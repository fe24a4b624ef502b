"""The gate also measures what all sets share: the reranker, the default settings, the lexicon of the organisation."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0014_gate_of_embedders")]

    operations = [
        migrations.AlterField(
            model_name="gatedchange",
            name="kind",
            field=models.CharField(
                choices=[
                    ("set_options", "Settings of a knowledge set"),
                    ("set_texts", "Prompt texts of a knowledge set"),
                    ("lexicon", "Lexicon of a knowledge set"),
                    ("query_adapter", "Fitted query vectors"),
                    ("embedder", "Embedding model of the site"),
                    ("reranker", "Reranker of the site"),
                    ("site_options", "Default settings"),
                    ("site_lexicon", "Lexicon of the organisation"),
                ],
                default="set_options",
                max_length=16,
                verbose_name="kind",
            ),
        ),
    ]
