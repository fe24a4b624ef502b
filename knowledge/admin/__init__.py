"""Admin pages for knowledge sets, documents and their ingestion. Each module declares its own."""

from accounts.admin.pages import import_pages

import_pages(__name__)
