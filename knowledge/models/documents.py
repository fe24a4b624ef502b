"""Documents and their immutable versions."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.models import ClearanceLevel


class Document(models.Model):
    """One record of content, in any number of sets. Records of different people may hold the same stored file.

    Identity is (source, home, external id), or (source, home, sha256) without an external id: see `home`.
    """

    class State(models.TextChoices):
        PROCESSING = "processing", _("Processing")
        LIVE = "live", _("Searchable")
        FAILED = "failed", _("Failed")
        DELETED = "deleted", _("Deleted")

    tenant = models.ForeignKey(
        "accounts.Tenant", on_delete=models.CASCADE, related_name="documents", verbose_name=_("tenant")
    )
    source = models.ForeignKey(
        "knowledge.Source", on_delete=models.PROTECT, related_name="documents", verbose_name=_("source")
    )
    external_id = models.CharField(_("external id"), max_length=512, blank=True)
    sha256 = models.CharField(max_length=64, editable=False)  # of the newest version's bytes
    # To what the identity belongs: 0 the source, n > 0 the set that it came into first, so that keepers of different
    # sets may use the same external id; n < 0 next to document -n, which others keep in that set or source
    home = models.BigIntegerField(default=0, db_default=0, editable=False)
    title = models.CharField(_("title"), max_length=512)
    # who sent the document named it; otherwise the title follows the file (knowledge.services.titles)
    is_title_given = models.BooleanField(default=False, db_default=False, editable=False)
    sets = models.ManyToManyField(
        "knowledge.KnowledgeSet", blank=True, related_name="documents", verbose_name=_("knowledge sets")
    )
    state = models.CharField(_("state"), max_length=16, choices=State.choices, default=State.PROCESSING)
    clearance = models.PositiveSmallIntegerField(_("clearance"), default=0)
    # who alone may read it: as its keepers say, and as its source says; both hold, null is no restriction
    readers = models.ForeignKey(
        "knowledge.ReaderList",
        null=True,
        blank=True,
        on_delete=models.RESTRICT,
        related_name="+",
        verbose_name=_("readers"),
    )
    source_readers = models.ForeignKey(
        "knowledge.ReaderList",
        null=True,
        blank=True,
        on_delete=models.RESTRICT,
        related_name="+",
        verbose_name=_("readers as the source says"),
    )
    tags = ArrayField(models.CharField(max_length=64), default=list, blank=True, verbose_name=_("tags"))
    # what the source's handler wrote, so that it can be taken back when rules change: {"tags": [], "metadata": {}}
    handled = models.JSONField(default=dict, blank=True, editable=False)
    series = models.CharField(_("series"), max_length=256, blank=True)  # of which only the latest is kept
    # whose options it is processed with while it is in it: the set that its uploader named first
    leading_set = models.ForeignKey(
        "knowledge.KnowledgeSet",
        null=True,
        blank=True,
        editable=False,
        on_delete=models.SET_NULL,
        related_name="+",
        db_index=False,
    )
    is_whole = models.BooleanField(_("keep in one piece"), default=False)
    # passage sizes of this document in place of those of its sets (ragcore.options.ChunkingOptions); {}: as they say
    chunking = models.JSONField(default=dict, blank=True, editable=False, db_default={})
    metadata = models.JSONField(_("attributes"), default=dict, blank=True)
    weight = models.FloatField(
        _("weight"),
        default=1.0,
        validators=[MinValueValidator(0.5), MaxValueValidator(2.0)],
        help_text=_("Ranking weight: 1 is normal, 0.5 half, 2 double."),
    )
    rating = models.FloatField(_("rating"), null=True, blank=True, editable=False)  # 1 to 5, mean of what readers gave
    ratings = models.PositiveIntegerField(default=0, editable=False)  # how many gave one
    live_version = models.OneToOneField(
        "knowledge.DocumentVersion", null=True, blank=True, on_delete=models.SET_NULL, related_name="live_for"
    )
    error_code = models.CharField(max_length=64, blank=True)
    error_message = models.CharField(max_length=512, blank=True)
    error_data = models.JSONField(default=dict, blank=True, editable=False)  # see RagError.message_data
    # what of the live version can be found, kept by knowledge.indexes.lexical_statistics: nobody has to count entries
    passages = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    entries = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+", verbose_name=_("added by")
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    updated = models.DateTimeField(_("updated"), auto_now=True)
    deleted = models.DateTimeField(_("deleted"), null=True, blank=True)

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        ordering: ClassVar = ["-created", "-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "source", "home", "external_id"],
                condition=~models.Q(external_id="") & models.Q(deleted=None),
                name="knowledge_document_external_id_once",
            ),
            models.UniqueConstraint(
                fields=["tenant", "source", "home", "sha256"],
                condition=models.Q(external_id="") & models.Q(deleted=None),
                name="knowledge_document_content_once",
            ),
            models.CheckConstraint(
                condition=models.Q(weight__gte=0.5, weight__lte=2.0), name="knowledge_document_weight_in_range"
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "state"], name="knowledge_document_state"),
            models.Index(fields=["tenant", "series"], condition=~models.Q(series=""), name="knowledge_document_series"),
            models.Index(fields=["tenant", "sha256"], name="knowledge_document_content"),
            GinIndex(fields=["tags"], name="knowledge_document_tags"),
            GinIndex(fields=["metadata"], opclasses=["jsonb_path_ops"], name="knowledge_document_attributes"),
            GinIndex(fields=["title"], opclasses=["gin_trgm_ops"], name="knowledge_document_title_trgm"),
        ]

    def __str__(self) -> str:
        return self.title

    @property
    def clearance_label(self) -> str:
        """The clearance in words."""
        return str(ClearanceLevel(self.clearance).label)


class DocumentNames(models.Model):
    """What a document can be asked for by besides its text: file name and path in words and keys (ragcore.text.names).

    Not in the document's row: that one is read for every hit of a search.
    """

    document = models.OneToOneField(Document, primary_key=True, on_delete=models.CASCADE, related_name="names")
    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", db_index=False)
    terms = ArrayField(models.TextField(), default=list)

    class Meta:
        verbose_name = _("names of a document")
        verbose_name_plural = _("names of documents")
        indexes: ClassVar = [GinIndex(fields=["terms"], name="knowledge_names_terms", fastupdate=False)]

    def __str__(self) -> str:
        return str(self.document_id)


def version_path(version: DocumentVersion, name: str) -> str:
    """Where the original is kept: by content, so that the same bytes are stored once a tenant."""
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    return f"{version.document.tenant_id}/{version.sha256[:2]}/{version.sha256}{suffix}"


def parsed_path(version: DocumentVersion, name: str) -> str:
    """One a version: the same bytes may be read with other options."""
    return f"{version.document.tenant_id}/parsed/{version.pk}.json.gz"


def rendition_path(version: DocumentVersion, name: str) -> str:
    return f"{version.document.tenant_id}/renditions/{version.pk}.pdf"


class DocumentVersion(models.Model):
    """The immutable content of a document at one time; citations point to it for ever."""

    class FileFault(models.TextChoices):
        MISSING = "missing", pgettext_lazy("original file", "Missing")
        DAMAGED = "damaged", pgettext_lazy("original file", "Damaged")

    document = models.ForeignKey(Document, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField(_("version"))
    sha256 = models.CharField(max_length=64)
    file = models.FileField(upload_to=version_path, max_length=256, blank=True)
    # of the stored file: size and time of change when it was last compared with `sha256`, and what was wrong with it
    file_verified = models.CharField(max_length=64, blank=True, editable=False, db_default="", default="")
    file_fault = models.CharField(
        max_length=16, blank=True, choices=FileFault, editable=False, db_default="", default=""
    )
    file_name = models.CharField(_("file name"), max_length=512)
    size_bytes = models.PositiveBigIntegerField(_("size"))
    title = models.CharField(max_length=512, blank=True)  # as the file says, if it does
    markdown = models.TextField(blank=True)  # the parsed text
    pages = models.PositiveIntegerField(null=True, blank=True)
    pipeline = models.CharField(max_length=64, blank=True)  # fingerprint of the options it was made with
    # ids of the sets that these options are of; []: of the site alone, None: it was made before this was recorded
    pipeline_sets = ArrayField(models.BigIntegerField(), null=True, blank=True, editable=False)
    parsed = models.FileField(upload_to=parsed_path, max_length=256, blank=True)  # cleaned blocks, before cutting
    rendition = models.FileField(upload_to=rendition_path, max_length=256, blank=True)  # PDF of slides, for pictures
    report = models.JSONField(default=dict, blank=True)  # counts of what ingestion met: representations, edits, …
    text_sha256 = models.CharField(max_length=64, blank=True)  # of the normalised text
    sketch = models.BinaryField(null=True, blank=True)  # MinHash, uint32[128]
    sent_as = models.CharField(max_length=1024, blank=True)  # path in its source
    created = models.DateTimeField(_("created"), auto_now_add=True)
    live_since = models.DateTimeField(null=True, blank=True)
    retired = models.DateTimeField(null=True, blank=True)  # soft-deleted: kept for the citations that need it
    withdrawn = models.DateTimeField(null=True, blank=True)  # a keeper has taken it back: never live again

    class Meta:
        verbose_name = _("document version")
        verbose_name_plural = _("document versions")
        ordering: ClassVar = ["document", "-number"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["document", "number"], name="knowledge_version_number_once")
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["file_fault"], condition=~models.Q(file_fault=""), name="knowledge_version_file_fault"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.file_name} v{self.number}"


# ── pictures ──────────────────────────────────────────────────────────────────────────────────────


def picture_path(picture: DocumentPicture, name: str) -> str:
    """Beside the originals of the tenant, by version."""
    return f"{picture.version.document.tenant_id}/pictures/{picture.version_id}/{name}"


class DocumentPicture(models.Model):
    """A picture that the text of a version shows as `![…](picture:NAME)`."""

    version = models.ForeignKey("knowledge.DocumentVersion", on_delete=models.CASCADE, related_name="pictures")
    name = models.CharField(max_length=128)
    media_type = models.CharField(max_length=32)
    file = models.FileField(upload_to=picture_path, max_length=256)
    page = models.PositiveIntegerField(_("page"), null=True, blank=True)
    alt = models.CharField(max_length=512, blank=True)

    class Meta:
        verbose_name = _("image")
        verbose_name_plural = _("images")
        ordering: ClassVar = ["version", "id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["version", "name"], name="knowledge_picture_once")]

    def __str__(self) -> str:
        return self.name


# ── near-duplicates ───────────────────────────────────────────────────────────────────────────────


class SketchBand(models.Model):
    """One band of the MinHash sketch of a live version; versions that share a band are compared."""

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    version = models.ForeignKey("knowledge.DocumentVersion", on_delete=models.CASCADE, related_name="bands")
    band = models.PositiveSmallIntegerField()
    value = models.BigIntegerField()

    class Meta:
        verbose_name = _("sketch band")
        verbose_name_plural = _("sketch bands")
        constraints: ClassVar = [models.UniqueConstraint(fields=["version", "band"], name="knowledge_band_once")]
        indexes: ClassVar = [models.Index(fields=["tenant", "band", "value"], name="knowledge_band_value")]

    def __str__(self) -> str:
        return f"{self.version_id}/{self.band}"


class DuplicatePair(models.Model):
    """Two documents with the same or nearly the same text; reported to owners, who decide."""

    class Kind(models.TextChoices):
        EXACT = "exact", _("The same text")
        NEAR = "near", _("Nearly the same text")

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("state of a pair", "Open")
        KEPT = "kept", _("Both are kept")

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+")
    first = models.ForeignKey("knowledge.Document", on_delete=models.CASCADE, related_name="+")  # the lower id
    second = models.ForeignKey("knowledge.Document", on_delete=models.CASCADE, related_name="+")
    kind = models.CharField(_("kind"), max_length=8, choices=Kind.choices)
    similarity = models.FloatField(_("similarity"))  # estimated Jaccard of shingles, 0 to 1
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.OPEN)
    found = models.DateTimeField(_("found"), auto_now_add=True)
    dismissed_by = models.ManyToManyField(  # who keeps one of both only: the pair stays open for the others
        settings.AUTH_USER_MODEL, blank=True, related_name="+", verbose_name=_("dismissed by")
    )

    class Meta:
        verbose_name = _("near-duplicate")
        verbose_name_plural = _("near-duplicates")
        ordering: ClassVar = ["-similarity", "-id"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["first", "second"], name="knowledge_pair_once")]

    def __str__(self) -> str:
        return f"{self.first_id} ≈ {self.second_id}"
