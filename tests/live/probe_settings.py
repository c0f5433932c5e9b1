"""The settings of a server whose writes tell what they find out about their transaction."""

from tests.server_settings import *  # noqa: F403

INSTALLED_APPS = [*INSTALLED_APPS, "tests.live.probe.ProbeConfig"]  # noqa: F405
