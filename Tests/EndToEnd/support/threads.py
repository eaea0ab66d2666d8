# SPDX-License-Identifier: Apache-2.0
"""Stops one thread of a program and nothing else of it, as a call that blocks would: ptrace(2) works by thread."""

import contextlib
import ctypes
import os
from pathlib import Path

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
#: waitpid(2): also for threads.
ALL_THREADS = 0x40000000


def _ptrace(request, thread):
    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
    if call(request, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x} of thread {thread}")


@contextlib.contextmanager
def stopped_thread(process, name):
    """Stops the thread of a process with this name, of several the one that was started first."""
    tasks = Path(f"/proc/{process}/task")
    thread = min(int(one.name) for one in tasks.iterdir() if (one / "comm").read_text().strip() == name)
    _ptrace(SEIZE, thread)
    try:
        _ptrace(INTERRUPT, thread)
        os.waitpid(thread, ALL_THREADS)
        yield
    finally:
        _ptrace(DETACH, thread)
