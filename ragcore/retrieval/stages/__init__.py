"""Retrieval stages, one file for each phase of a search. Importing this package registers them all."""

import sys

from ragcore.pipeline import import_stages

import_stages(sys.modules[__name__])
