# SPDX-License-Identifier: Apache-2.0
"""A response that a client reads too slowly holds a connection to the app for a limited time only."""

import pytest


@pytest.mark.timeout(300)
@pytest.mark.parametrize("protocol", ["HTTP/1.1", "HTTP/2"])
def test_x_18_a_response_read_too_slowly_is_cancelled(protocol, slow_readers):
    """X-18: less than 128 bytes a second for a minute."""
    assert 55 < slow_readers[protocol].wait(200) < 190
