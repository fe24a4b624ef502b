"""Static files under names with a hash of their content, which browsers keep for a year; compressed beforehand."""

from __future__ import annotations

from typing import Any

from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # WhiteNoise has no types
    """Names with hashes once `collectstatic` has run, which start-up does; plain names before, for tests and commands.

    Modules of scripts import each other under these names, too, so that no module is there twice.
    """

    support_js_module_import_aggregation = True
    manifest_strict = False

    def stored_name(self, name: str) -> str:
        """The name with the hash, or the name itself where the files have not been collected."""
        return str(super().stored_name(name)) if self.hashed_files else name

    def url_converter(self, *args: Any, **options: Any) -> Any:
        """As Django's; files that third-party packages name and do not bring along stay as they are."""
        convert = super().url_converter(*args, **options)

        def converted(match: Any) -> str:
            try:
                return str(convert(match))
            except ValueError:
                return str(match[0])

        return converted

    def create_compressor(self, **options: Any) -> Any:
        """gzip only: Brotli takes a minute more at the first start and saves a tenth."""
        return super().create_compressor(**{**options, "use_brotli": False})
