"""The settings of the servers that tests start: production's, with the tests' time-outs of the database.

Files of pages are where tests/support/static_files.py has gathered them.
"""

import os
from pathlib import Path

from config.settings import *  # noqa: F403
from tests.support.timeouts import lengthen

STATIC_ROOT = Path(os.environ["TEST_STATIC_ROOT"])
lengthen(DATABASES)  # noqa: F405
