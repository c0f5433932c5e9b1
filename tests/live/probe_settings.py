"""The settings of a server whose writes report the state of their transaction."""

from tests.server_settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "tests.live.probe.ProbeConfig"]  # noqa: F405
