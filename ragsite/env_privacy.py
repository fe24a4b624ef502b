"""Environment variables for the retention of personal data, in days; 0 keeps everything."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings


class PrivacyEnvironment(BaseSettings):
    """0 keeps everything."""

    AUDIT_MONTHS: int = Field(default=24, ge=0, le=1200)
    KEEP_CONVERSATIONS_DAYS: int = Field(default=0, ge=0, le=36_500)  # after the last turn
    KEEP_ATTACHMENTS_DAYS: int = Field(default=30, ge=0, le=36_500)  # 0: as long as their conversation
    KEEP_TRACES_DAYS: int = Field(default=0, ge=0, le=36_500)  # how answers came to be
    KEEP_SIGNALS_DAYS: int = Field(default=0, ge=0, le=36_500)  # copying, opening sources, reading time
    KEEP_NOTIFICATIONS_DAYS: int = Field(default=180, ge=0, le=36_500)  # read ones and others
    PURGE_CITED: bool = False  # documents that were deleted go for good although stored answers cite them
