"""Domain vectors are gone (decision 056): their tables, their columns, and the cells that they were divided into."""

from django.db import migrations

# Tenants that searched with them find by the embedder's own vectors from now on: kept answers become stale.
ADVANCE = """
UPDATE knowledge_corpusepoch SET value = value + 1, everywhere = value + 1
WHERE tenant_id IN (SELECT tenant_id FROM knowledge_tenantvectors WHERE latent <> 0)
"""
CELLS = "DELETE FROM knowledge_vectorcells WHERE name LIKE '%+latent-%'"


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0068_corpus_epoch_numbers")]

    operations = [
        migrations.RunSQL(ADVANCE, migrations.RunSQL.noop),
        migrations.RunSQL(CELLS, migrations.RunSQL.noop),
        migrations.DeleteModel("LatentVector"),
        migrations.DeleteModel("LatentTerm"),
        migrations.DeleteModel("LatentModel"),
        migrations.RemoveField("tenantvectors", "latent"),
        migrations.RemoveField("tenantvectors", "latents"),
        migrations.RemoveField("tenantvectors", "latent_off"),
    ]
