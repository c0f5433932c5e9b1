"""Alerts and dashboard (deploy/prometheus): their metrics and chapters exist, and each alert was seen to fire."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from prometheus_client import REGISTRY

import config.urls  # noqa: F401 - registers the collectors
from tests.deploy.conftest import program

ROOT = Path(settings.BASE_DIR)
FOLDER = ROOT / "deploy" / "prometheus"
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
ALERTS: dict[str, Any] = {
    rule["alert"]: rule
    for group in yaml.safe_load((FOLDER / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
}
# Metrics of Prometheus, its client library, Patroni and exporters.
OTHERS = re.compile(r"up|(process|patroni|node|probe|pgbackrest)_\w+")


def documented() -> set[str]:
    """The metrics of the table in docs/operations.md."""
    operations = (ROOT / "docs/operations.md").read_text()
    rows = re.findall(r"^\| (`psi_.*?) \|", operations, flags=re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(psi_\w+)`", row)}


def metrics_of(expression: str) -> set[str]:
    names = set(
        re.findall(r"\b((?:psi|process|patroni|node|probe|pgbackrest)_\w+|up)\b", re.sub(r'"[^"]*"', "", expression))
    )
    return {re.sub(r"_(bucket|count|sum)$", "", name) for name in names}


def expressions_of_the_dashboard() -> Iterator[str]:
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"]


def anchors(document: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", (ROOT / "docs" / document).read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def promtool(*arguments: str) -> str:
    ended = subprocess.run([program("promtool"), *arguments], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_prometheus_accepts_the_configuration() -> None:
    assert f"{len(ALERTS)} rules found" in promtool("check", "config", "prometheus.yml")


def test_each_alert_fires_when_it_should() -> None:
    promtool("test", "rules", "alerts_test.yml")
    cases = yaml.safe_load((FOLDER / "alerts_test.yml").read_text())["tests"]
    fired = {rule["alertname"] for case in cases for rule in case["alert_rule_test"] if rule["exp_alerts"]}
    assert fired == set(ALERTS)


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_links_a_chapter_that_exists(name: str) -> None:
    prefix, document, anchor = re.fullmatch(
        r"(.*)/(\w+\.md)#([\w-]+)", ALERTS[name]["annotations"]["runbook_url"]
    ).groups()  # type: ignore[union-attr]
    assert prefix == "{{ $externalLabels.docs }}"
    assert anchor in anchors(document)


@pytest.mark.parametrize(
    "chapter",
    [
        *("the-database-is-unreachable", "the-database-is-full", "redis-is-unreachable", "a-feed-stops"),
        *("a-partners-key-ends", "the-certificate-ends", "a-disk-fills-up", "a-backup-is-old"),
    ],
)
def test_chapters_about_an_incident_have_an_alert(chapter: str) -> None:
    assert any(rule["annotations"]["runbook_url"].endswith(f"#{chapter}") for rule in ALERTS.values())


def test_alerts_and_dashboard_use_metrics_that_exist() -> None:
    used = {name for rule in ALERTS.values() for name in metrics_of(rule["expr"])}
    used |= {name for expression in expressions_of_the_dashboard() for name in metrics_of(expression)}
    assert {name for name in used if not OTHERS.fullmatch(name)} <= documented()


def test_the_dashboard_shows_all_metrics_of_the_table() -> None:
    shown = {name for expression in expressions_of_the_dashboard() for name in metrics_of(expression)}
    assert documented() - shown == set()


def test_the_table_has_each_counter_and_histogram_of_the_program() -> None:
    own = {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in REGISTRY.collect()
        if family.name.startswith("psi_") and family.type in {"counter", "histogram"}
    }
    assert own
    assert own <= documented()


def test_each_exporter_of_an_alert_is_scraped() -> None:
    jobs = {one["job_name"] for one in yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]}
    used = {
        job
        for rule in ALERTS.values()
        for match in re.findall(r'job=~?"([^"]+)"', rule["expr"])
        for job in match.split("|")
    }
    assert {"node", "blackbox", "pgbackrest"} <= used <= jobs
