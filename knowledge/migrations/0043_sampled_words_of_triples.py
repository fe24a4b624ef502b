from django.db import migrations

LEAST_DIGEST = -(2**63)
SAMPLED = {8: LEAST_DIGEST + 2**61, 64: LEAST_DIGEST + 2**58, 512: LEAST_DIGEST + 2**55}


class Migration(migrations.Migration):
    """Words of an eighth, a 64th and a 512th of the facts, of which frequent words are counted.

    Digests are random numbers, so the facts with small ones are a sample. With "+ 0" the condition is of no use to other
    indexes: without it PostgreSQL reads all facts of a sample from the index of digests, for each word.
    """

    dependencies = [("knowledge", "0042_words_of_triples_together")]

    operations = [
        migrations.RunSQL(
            f"CREATE INDEX knowledge_triple_words_{share} ON knowledge_triple USING gin (lexemes) "
            f"WITH (fastupdate = off) WHERE digest + 0 < {below}",
            f"DROP INDEX knowledge_triple_words_{share}",
        )
        for share, below in SAMPLED.items()
    ]
