# SPDX-License-Identifier: Apache-2.0
"""What the tests themselves rely on when several workers run them on one machine."""

import pytest

from support import processes


@pytest.mark.parametrize("workers", [1, 2, 4, 5, 16, 64])
def test_each_worker_has_ports_of_its_own(workers):
    ranges = [processes.ports_of(worker, workers) for worker in range(workers)]
    ports = [port for one in ranges for port in one]
    assert len(ports) == len(set(ports)) and set(ports) <= set(processes.PORTS)
    assert len({len(one) for one in ranges}) == 1 and len(ranges[0]) >= 150


def test_free_ports_of_a_late_worker_are_those_of_no_other(monkeypatch):
    monkeypatch.setenv("PYTEST_XDIST_WORKER_COUNT", "8")
    for name in ("gw0", "gw4", "gw7"):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", name)
        own = processes.ports_of(int(name[2:]), 8)
        found = [processes.free_port() for _ in range(20)]
        assert len(set(found)) == 20 and set(found) <= set(own)
        first = processes.consecutive_ports(3)
        assert set(range(first, first + 3)) <= set(own)
