# SPDX-License-Identifier: Apache-2.0
"""Watches memory and descriptors of a program, and whether they grow."""

import csv
import statistics
import threading
import time

from measure import cpu_seconds, descriptors, rss_kib

COLUMNS = ["seconds", "rss_kib", "descriptors", "cpu_seconds", "done", "failed"]
MAX_GROWTH, MAX_DESCRIPTORS = 1.05, 5


class Watch:
    """Samples in its own thread until it is stopped; each is written at once."""

    def __init__(self, pid, tally, path, every):
        self.pid, self.tally, self.path, self.every = pid, tally, path, every
        self.samples, self.over = [], threading.Event()
        self.thread = threading.Thread(target=self.look_on, daemon=True)

    def look_on(self):
        began = time.monotonic()
        with open(self.path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            while not self.over.wait(self.every):
                try:
                    values = [rss_kib(self.pid), descriptors(self.pid), cpu_seconds(self.pid)]
                except OSError:
                    return
                sample = [round(time.monotonic() - began, 1), *values, *self.tally.totals]
                self.samples.append(sample)
                writer.writerow(sample)
                file.flush()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.over.set()
        self.thread.join()

    def quarters(self, name):
        """The medians of the second quarter and of the last; None if there are too few samples."""
        values = [sample[COLUMNS.index(name)] for sample in self.samples]
        part = len(values) // 4
        if part < 2:
            return None
        return statistics.median(values[part:2 * part]), statistics.median(values[-part:])

    @property
    def load(self):
        """How much of one processor was used, on average."""
        if len(self.samples) < 2:
            return 0
        (first, *_, start, _, _), (last, *_, end, _, _) = self.samples[0], self.samples[-1]
        return (end - start) / (last - first)

    def findings(self):
        memory, files = self.quarters("rss_kib"), self.quarters("descriptors")
        if memory is None:
            return ["too few samples to decide whether memory grows; run it longer"]
        found = []
        if memory[1] > memory[0] * MAX_GROWTH:
            found.append(f"memory grew from {memory[0]:.0f} to {memory[1]:.0f} KiB")
        if files[1] > files[0] + MAX_DESCRIPTORS:
            found.append(f"descriptors grew from {files[0]:.0f} to {files[1]:.0f}")
        return found
