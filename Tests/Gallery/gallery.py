#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pictures of each page: light, dark, 390 px, from right to left, German; into `.build/gallery`, to look at."""

import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "Tests" / "EndToEnd"))

from support.gallery import Gallery  # noqa: E402

LOOKS = {
    "light": {}, "dark": {"scheme": "dark"}, "phone": {"width": 390}, "german": {"language": "de"},
    "rtl": {"language": "ar"},
}


def main():
    target = REPOSITORY / ".build" / "gallery"
    target.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[1:] or list(LOOKS)
    with tempfile.TemporaryDirectory() as folder, Gallery(Path(folder)) as gallery:
        for look in wanted:
            with gallery.looks(**LOOKS[look]):
                for page in gallery.pages():
                    (target / f"{page}-{look}.png").write_bytes(gallery.picture())
    print(f"{len(list(target.glob('*.png')))} pictures in {target}")


if __name__ == "__main__":
    main()
