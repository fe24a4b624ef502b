"""`/api/v1/triples`: facts of knowledge sets: import, list, search, delete."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, ClassVar

from asgiref.sync import async_to_sync
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.key_scopes import KeyScope
from accounts.rest import Identifier, PageQuery, ResourceViewSet, SmallJsonParser, StrictSerializer, Text
from knowledge.api.documents import JsonLinesParser, LinesParser, TextLinesParser
from knowledge.api.entities import GraphExportQuery, sets_asked
from knowledge.graph_exports import fact_lines, graph_file
from knowledge.models import Triple, TripleImport
from knowledge.selectors.triples import import_get, imports_listed, triples_listed
from knowledge.services.triple_search import FactsFound, chain_written_by_model, triples_retrieve_and_rewrite
from knowledge.services.triples import import_delete, triple_delete, triples_import
from ragcore.graph.paths import PathAnswer
from ragcore.graph.retrieval import MOST_RESULTS, ScoredTriple
from ragcore.graph.triples import Triple as Fact
from ragcore.graph.triples import sentence
from ragcore.text.fact_question import KINDS

FORMATS = {"text/csv": "csv", "application/n-triples": "ntriples"}  # every other type: lines of JSON


class CsvParser(LinesParser):
    """Rows of subject, relation, object."""

    media_type = "text/csv"


class NTriplesParser(LinesParser):
    """RDF as N-Triples."""

    media_type = "application/n-triples"


LINE_PARSERS: list[type[BaseParser]] = [LinesParser, CsvParser, NTriplesParser, JsonLinesParser, TextLinesParser]


class TripleLineFields(StrictSerializer):
    """One line: a fact. `set`: the knowledge set, if the address names none."""

    subject = Text(max_length=2000)
    relation = Text(max_length=2000)
    object = Text(max_length=2000)
    subject_type = Text(max_length=200, required=False)
    object_type = Text(max_length=200, required=False)
    set = Identifier(required=False)


class ImportQuery(StrictSerializer):
    """`set`: the knowledge set of lines that name none."""

    set = Identifier(required=False)


class FaultFields(serializers.Serializer[Any]):
    line = serializers.IntegerField()
    code = serializers.CharField()
    message = serializers.CharField()


class TakenFields(serializers.Serializer[Any]):
    """What was stored; the first 100 faulty lines are named."""

    accepted = serializers.IntegerField()
    duplicates = serializers.IntegerField()
    rejected_count = serializers.IntegerField()
    rejected = FaultFields(many=True)
    imports = serializers.ListField(child=serializers.IntegerField())


class TripleQuery(PageQuery):
    """`name`: subject or object is called so. `relation`: exactly this one."""

    set = Identifier(required=False)
    name = Text(max_length=2000, required=False)
    relation = Text(max_length=2000, required=False)


class TripleFields(serializers.ModelSerializer[Triple]):
    """A fact. `document` and `sentence`: where it was read, null for imported ones."""

    set = serializers.IntegerField(source="knowledge_set_id")
    document = serializers.IntegerField(source="document_id", allow_null=True)
    import_id = serializers.IntegerField(source="source_id", allow_null=True)

    class Meta:
        model = Triple
        fields: ClassVar = [
            "id",
            "set",
            "subject",
            "relation",
            "object",
            "subject_type",
            "object_type",
            "confidence",
            "import_id",
            "document",
            "sentence",
        ]


class TripleImportFields(serializers.ModelSerializer[TripleImport]):
    """An import with what became of its lines."""

    set = serializers.IntegerField(source="knowledge_set_id")
    format = serializers.CharField(help_text="csv, ntriples or jsonl.")
    progress = serializers.IntegerField(help_text="Percent.")
    rejected_count = serializers.IntegerField(source="rejected")
    rejected = FaultFields(many=True, source="faults")

    class Meta:
        model = TripleImport
        fields: ClassVar = [
            "id",
            "set",
            "name",
            "format",
            "state",
            "progress",
            "accepted",
            "duplicates",
            "rejected_count",
            "rejected",
            "created",
            "finished",
        ]


class FactSearchBody(StrictSerializer):
    """A question about facts."""

    question = Text(max_length=2000)
    n_results = serializers.IntegerField(min_value=1, max_value=MOST_RESULTS, default=5)
    use_reranking = serializers.BooleanField(default=True)
    prompt_type = serializers.ChoiceField(KINDS, required=False, allow_null=True)
    sets = serializers.ListField(child=Identifier(), max_length=100, default=list)
    weights = serializers.ChoiceField(["learned", "fixed"], default="learned")
    use_model = serializers.BooleanField(
        default=False, help_text="A language model writes the reasons, if one is configured."
    )


class ScoredFields(serializers.Serializer[Any]):
    id = serializers.IntegerField()
    subject = serializers.CharField()
    relation = serializers.CharField()
    object = serializers.CharField()
    text = serializers.CharField()
    stage1_score = serializers.FloatField()
    rerank_score = serializers.FloatField(allow_null=True)
    final_score = serializers.FloatField()
    detailed_scores = serializers.DictField(child=serializers.FloatField())


class StepFields(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    text = serializers.CharField()


class PathFields(serializers.Serializer[Any]):
    answer = serializers.CharField()
    score = serializers.FloatField()
    path = serializers.ListField(child=serializers.DictField())


class LinkedFields(serializers.Serializer[Any]):
    name = serializers.CharField()
    how = serializers.CharField(help_text="spelling or meaning.")
    score = serializers.FloatField()


class FactSearchFields(serializers.Serializer[Any]):
    """Facts best first, the chain of reasons and knowledge, answers, and answers over several facts."""

    question = serializers.CharField()
    question_type = serializers.CharField(help_text="subject, object, relationship or type.")
    question_type_confidence = serializers.FloatField()
    triples = ScoredFields(many=True)
    chain = StepFields(many=True)
    rewritten = serializers.CharField()
    written_by = serializers.ChoiceField(["rules", "model"])
    answers = serializers.ListField(child=serializers.CharField())
    paths = PathFields(many=True)
    entities = LinkedFields(many=True, help_text="Names that the question misspells or says in other words.")


@extend_schema(tags=["triples"])
class TripleViewSet(ResourceViewSet):
    """Facts as triples of subject, relation and object. Those who curate a knowledge set import into it."""

    lookup_field = "triple_id"
    lookup_value_converter = "int"
    key_scopes: ClassVar = {
        "list": KeyScope.READ,
        "create": KeyScope.WRITE,
        "destroy": KeyScope.WRITE,
        "search": KeyScope.READ,
        "export": KeyScope.READ,
        "imports": KeyScope.READ,
        "one_import": KeyScope.READ,
        "remove_import": KeyScope.WRITE,
    }

    def get_parsers(self) -> list[BaseParser]:
        """Imports are read line by line, whatever their length; everything else is small JSON."""
        is_import = self.action_map.get(str(self.request.method).lower()) == "create" if self.request else False
        return [parser() for parser in (LINE_PARSERS if is_import else [SmallJsonParser])]

    @extend_schema(parameters=[TripleQuery], responses=TripleFields(many=True), operation_id="triples_list")
    def list(self, request: Request) -> Response:
        """Facts that you may see, in the order of their import."""
        query = self.query(TripleQuery)
        sets = sets_asked(query)
        rows = triples_listed(
            scope=self.scope, sets=sets, name=query.get("name", ""), relation=query.get("relation", "")
        )
        return self.page(rows, TripleFields)

    @extend_schema(
        parameters=[ImportQuery],
        request={"application/x-ndjson": TripleLineFields, "text/csv": str, "application/n-triples": str},
        responses={202: TakenFields},
    )
    def create(self, request: Request) -> Response:
        """Import facts: lines of JSON, CSV (`text/csv`) or N-Triples (`application/n-triples`), read as a stream.

        They are found by their words at once, by meaning a little later. Faulty lines are named; the others stay.
        """
        set_id = self.query(ImportQuery).get("set")
        kind = str(request.content_type or "").partition(";")[0].strip().lower()
        lines: Any = request.data or ()
        form: Any = FORMATS.get(kind, "jsonl")
        name = f"API ({form})"
        result = triples_import(scope=self.scope, actor=self.user, lines=lines, form=form, set_id=set_id, name=name)
        return Response(asdict(result), status=202)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, triple_id: int) -> Response:
        """Delete one fact of a set that you curate."""
        triple_delete(scope=self.scope, actor=self.user, triple_id=triple_id)
        return Response(status=204)

    @extend_schema(request=FactSearchBody, responses=FactSearchFields)
    @action(detail=False, methods=["post"])
    def search(self, request: Request) -> Response:
        """Facts for a question in two stages, the chain that they make, and answers over up to three facts."""
        values = self.body(FactSearchBody)
        use_model = values.pop("use_model")
        facts = triples_retrieve_and_rewrite(scope=self.scope, **values)
        if use_model:
            facts = async_to_sync(chain_written_by_model)(facts)
        return Response(found_fields(facts))

    @extend_schema(parameters=[GraphExportQuery], responses={(200, "text/csv"): OpenApiTypes.STR,
                                                        (200, "application/ld+json"): OpenApiTypes.OBJECT})  # fmt: skip
    @action(detail=False, methods=["get"])
    def export(self, request: Request) -> StreamingHttpResponse:
        """All facts that you may see, as CSV or JSON-LD; the CSV file can be imported."""
        query = self.query(GraphExportQuery)
        rows = triples_listed(scope=self.scope, sets=sets_asked(query))
        return graph_file(fact_lines(rows.iterator(chunk_size=2000), query["format"]), query["format"], "triples")

    @extend_schema(parameters=[PageQuery], responses=TripleImportFields(many=True), operation_id="triples_imports_list")
    @action(detail=False, methods=["get"])
    def imports(self, request: Request) -> Response:
        """Imports into sets that you curate, newest first."""
        self.query(PageQuery)
        return self.page(imports_listed(scope=self.scope), TripleImportFields)

    @extend_schema(responses=TripleImportFields)
    @action(detail=False, methods=["get"], url_path="imports/<int:import_id>")
    def one_import(self, request: Request, import_id: int) -> Response:
        """One import: its state and the first 100 faulty lines."""
        return Response(TripleImportFields(import_get(scope=self.scope, import_id=import_id)).data)

    @extend_schema(responses={204: None})
    @one_import.mapping.delete
    def remove_import(self, request: Request, import_id: int) -> Response:
        """Delete an import with its facts."""
        import_delete(scope=self.scope, actor=self.user, import_id=import_id)
        return Response(status=204)


def found_fields(facts: FactsFound) -> dict[str, Any]:
    """What a search found, as the API says it."""
    answer = facts.answer
    return {
        "question": answer.question,
        "question_type": answer.kind.kind,
        "question_type_confidence": answer.kind.confidence,
        "triples": [_scored(triple) for triple in answer.triples],
        "chain": [asdict(step) for step in answer.chain.steps],
        "rewritten": answer.chain.text,
        "written_by": answer.chain.by,
        "answers": list(answer.chain.answers),
        "paths": [_path(path) for path in facts.paths],
        "entities": [{"name": entity.key, "how": entity.how, "score": entity.score} for entity in facts.entities],
    }


def _scored(scored: ScoredTriple) -> dict[str, Any]:
    return {
        "id": scored.id,
        **_fact(scored.triple),
        "text": sentence(scored.triple),
        "stage1_score": scored.stage1_score,
        "rerank_score": scored.rerank_score,
        "final_score": scored.final_score,
        "detailed_scores": dict(scored.detailed_scores),
    }


def _fact(triple: Fact) -> dict[str, str]:
    return {"subject": triple.subject, "relation": triple.relation, "object": triple.object}


def _path(path: PathAnswer) -> dict[str, Any]:
    return {"answer": path.answer, "score": path.score, "path": [_fact(triple) for triple in path.path]}
