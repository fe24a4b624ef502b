"""Answers and conversations as files with their sources: Markdown, Word, PDF."""

from chat.exports.files import FORMATS, ExportFile, export_file, export_in_turn
from chat.exports.report import Report, build_report

__all__ = ["FORMATS", "ExportFile", "Report", "build_report", "export_file", "export_in_turn"]
