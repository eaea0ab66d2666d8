# SPDX-License-Identifier: Apache-2.0
"""The documents and their blocks."""

import re

from .processes import REPOSITORY


def blocks(name, language):
    """The blocks of a language in a document, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", (REPOSITORY / name).read_text(), re.S | re.M)
