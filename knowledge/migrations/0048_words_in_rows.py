"""The BM25 weights of a passage stay in its row: reading them outside of it cost more than scoring them.

Rows that exist keep theirs outside until they are written again: when their passage is processed, or when the average
length has drifted. The storage of a column is none of Django's model state.
"""

from django.db import migrations

FORWARD = """
ALTER TABLE knowledge_indexentry SET (toast_tuple_target = 4080);
ALTER TABLE knowledge_indexentry ALTER COLUMN bm25 SET STORAGE MAIN;
"""
BACKWARD = """
ALTER TABLE knowledge_indexentry RESET (toast_tuple_target);
ALTER TABLE knowledge_indexentry ALTER COLUMN bm25 SET STORAGE EXTERNAL;
"""


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0047_reranker_fits")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
