# SPDX-License-Identifier: BSD-3-Clause
"""What day it is, for tests that take another share every day; todays_share.h has the same for those in C."""
import os
import time


def today():
    """Days since 1970, or BL_DAY, which repeats what another day's tests have done."""
    return int(os.environ.get("BL_DAY", time.time() // 86400))
