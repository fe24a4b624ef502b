from django.db import migrations, models

COMPONENTS = [
    ("answer", "Whole answer"),
    ("retrieval", "Retrieval alone"),
    ("rewriting", "Query rewriting alone"),
    ("rerank", "Reranking alone"),
    ("compression", "Context compression alone"),
    ("generation", "Generation alone, from the relevant documents"),
    ("support", "Support check alone, of the accepted answer"),
    ("triples", "Triples alone, with and without re-scoring"),
]


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0010_run_cases")]
    operations = [
        migrations.AlterField(
            model_name="runconfiguration",
            name="component",
            field=models.CharField(choices=COMPONENTS, default="answer", max_length=16),
        )
    ]
