"""The settings of the servers that tests start: production's, with the tests' time-outs of the database."""

from config.settings import *  # noqa: F403
from tests.timeouts import lengthen

lengthen(DATABASES)  # noqa: F405
