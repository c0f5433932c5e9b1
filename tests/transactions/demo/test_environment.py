"""The demo's service reads `.env` itself, so that SIGHUP brings what was edited there (docs/operations.md)."""

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from transactions.management.commands import demo


def test_values_that_settings_read_from_the_file_are_not_passed_on(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BASE_DIR = tmp_path
    (tmp_path / ".env").write_text('PARTNER_RATE_LIMIT=5/minute\nCLOCK_SKEW_SECONDS="60"\nSECRET_KEY=of-the-file\n')
    # As settings.py sets them.
    monkeypatch.setenv("PARTNER_RATE_LIMIT", "5/minute")
    monkeypatch.setenv("CLOCK_SKEW_SECONDS", "60")
    # A variable that was set overrides the file.
    monkeypatch.setenv("SECRET_KEY", "of-the-environment")
    environment = demo._environment()
    assert "PARTNER_RATE_LIMIT" not in environment
    assert "CLOCK_SKEW_SECONDS" not in environment
    assert environment["SECRET_KEY"] == "of-the-environment"
    assert "PATH" in environment


def test_without_a_file_the_whole_environment_is_passed_on(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BASE_DIR = tmp_path
    monkeypatch.setenv("PARTNER_RATE_LIMIT", "5/minute")
    assert demo._environment()["PARTNER_RATE_LIMIT"] == "5/minute"
