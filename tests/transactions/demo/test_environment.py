"""The demo's service reads `.env` itself, so that SIGHUP brings what was edited there (docs/operations.md)."""

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from transactions.management.commands import demo


def test_what_settings_took_from_the_file_is_left_to_the_file(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BASE_DIR = tmp_path
    (tmp_path / ".env").write_text('PARTNER_RATE_LIMIT=5/minute\nCLOCK_SKEW_SECONDS="60"\nSECRET_KEY=of-the-file\n')
    # As settings put them there.
    monkeypatch.setenv("PARTNER_RATE_LIMIT", "5/minute")
    monkeypatch.setenv("CLOCK_SKEW_SECONDS", "60")
    # As somebody set it, who is then to be obeyed.
    monkeypatch.setenv("SECRET_KEY", "of-the-environment")
    given = demo._environment()
    assert "PARTNER_RATE_LIMIT" not in given
    assert "CLOCK_SKEW_SECONDS" not in given
    assert given["SECRET_KEY"] == "of-the-environment"
    assert "PATH" in given


def test_without_a_file_the_environment_is_handed_on(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BASE_DIR = tmp_path
    monkeypatch.setenv("PARTNER_RATE_LIMIT", "5/minute")
    assert demo._environment()["PARTNER_RATE_LIMIT"] == "5/minute"
