"""A worker that serves requests, in this process."""

import gc
import signal
from multiprocessing import Event

import pytest

from config.server import draining
from config.server.listening import Kind, ListeningSlot
from partners.monitoring import metrics


def test_a_worker_collects_garbage_once_it_has_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "mark_serving", lambda *, for_staff: None)
    # The parent of this process is no master.
    monkeypatch.setattr(ListeningSlot, "_end_with_master", lambda *_: None)
    before = signal.getsignal(draining.SIGNAL)
    slot, loaded = ListeningSlot("127.0.0.1", 0, Kind.PARTNERS, backlog=1), Event()
    try:
        slot.load(loaded)
        assert loaded.is_set()
        assert gc.isenabled()
    finally:
        signal.signal(draining.SIGNAL, before)
        slot.close()
