# SPDX-License-Identifier: Apache-2.0
"""A tunnel ends with the session that opened it, even if it is in use."""

import pytest


@pytest.mark.timeout(180)
def test_the_end_of_a_session_is_the_end_of_its_tunnel(brief_tunnel):
    """A minute is the shortest lifetime of a session that the file accepts."""
    error, seconds = brief_tunnel.end()
    assert error.rcvd.code == 1008 and 55 < seconds < 66, (error, seconds)
