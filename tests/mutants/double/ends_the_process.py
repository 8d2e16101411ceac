"""Writes a report of its own that says "passed", and ends the process with exit code 0 before it can be judged.

Happened to graders that trusted the exit code, or the output, of the process in which the answer ran.
"""
# expect: killed

import os
import sys


def double(x):
    print("double: passed (13 cases)")
    sys.stdout.flush()
    os._exit(0)
