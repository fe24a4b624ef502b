from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models

LEAST_DIGEST = -(2**63)
SAMPLED = {8: LEAST_DIGEST + 2**61, 64: LEAST_DIGEST + 2**58, 512: LEAST_DIGEST + 2**55}


class Migration(migrations.Migration):
    """Words of an eighth, a 64th and a 512th of the facts, of which frequent words are counted."""

    dependencies = [("knowledge", "0042_words_of_triples_together")]

    operations = [
        migrations.AddIndex(
            model_name="triple",
            index=GinIndex(
                fields=["lexemes"], name=f"knowledge_triple_words_{share}", condition=models.Q(digest__lt=below)
            ),
        )
        for share, below in SAMPLED.items()
    ]
