"""The gate also measures embedding models of knowledge sets."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0019_calls_of_workers")]

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
                    ("reranker_fit", "Fitted reranker weights"),
                    ("set_embedder", "Embedding model of a knowledge set"),
                    ("site_options", "Default settings"),
                    ("site_lexicon", "Lexicon of the organisation"),
                ],
                default="set_options",
                max_length=16,
                verbose_name="kind",
            ),
        ),
    ]
