"""The page "Go live": thirteen steps in the sandbox, whose scripts tests run as they are printed."""

from functools import lru_cache

from django.conf import settings
from django.template.loader import render_to_string

from partners import retention
from partners.api import idempotency
from partners.api.sandbox import faults
from partners.authentication import keys
from partners.models import KEY_PREFIXES, Mode
from portal.guide import example_files
from portal.guide.example_files import LANGUAGES, Sample

SECTIONS = (
    ("start", "Before you begin"),
    ("sign", "1. Sign a request"),
    ("create", "2. Create a user"),
    ("be-refused", "3. Be refused"),
    ("be-approved", "4. Be approved"),
    ("read-events", "5. Read the events"),
    ("answer", "6. Answer a requirement"),
    ("conversions", "7. Page through conversions"),
    ("document", "8. Download a document"),
    ("webhook", "9. Receive a webhook"),
    ("lost-response", "10. Lose a response"),
    ("rotate-key", "11. Rotate the key"),
    ("rate-limit", "12. Be rate-limited"),
    ("reconcile", "13. Reconcile"),
    ("checklist", "Go-live checklist"),
)
# What the steps need beside each other.
OTHER_FILES = ("psi", "receive_webhook")
# The command that runs a script, by its suffix.
PROGRAMS = {".py": "python3", ".mjs": "node", ".sh": "bash"}


@lru_cache(maxsize=8)
def page(base_url: str) -> str:
    """Render the page, once in each process and for each address. base_url: without a slash at the end."""
    steps = example_files.samples_in("go_live")
    context = {
        "here": "go-live",
        "markdown": "go-live",
        "contents": [{"title": "", "links": [{"id": name, "title": title} for name, title in SECTIONS]}],
        "titles": {name.replace("-", "_"): title for name, title in SECTIONS},
        "base_url": base_url,
        "key_prefix": KEY_PREFIXES[Mode.SANDBOX],
        "secret_prefix": keys.SECRET_PREFIXES[Mode.SANDBOX],
        "live_key_prefix": KEY_PREFIXES[Mode.LIVE],
        "downloads": [_download(suffix, [*OTHER_FILES, *steps]) for suffix in PROGRAMS],
        "steps": steps,
        "faults": [fault for fault in faults.Fault if fault != faults.Fault.LOST_ANSWER],
        "slow": faults.Fault.SLOW,
        "slow_seconds": int(faults.SLOW_SECONDS),
        "skew": settings.CLOCK_SKEW_SECONDS,
        "window_hours": int(idempotency.WINDOW.total_seconds()) // 3600,
        "event_days": retention.EVENTS_KEPT.days,
    }
    return render_to_string("docs/go_live.html", context)


def _download(suffix: str, names: list[str]) -> Sample:
    """The commands that download all files of a language."""
    language, _ = LANGUAGES[suffix]
    loop = " \\\n  ".join(["for name in", *names])
    text = f'mkdir go-live\ncd go-live\n{loop}\ndo\n  curl -fsSO "$PSI_BASE_URL/docs/examples/$name{suffix}"\ndone\n'
    return Sample(f"download, {language}", language, "bash", text, text.count("\n"), "")
