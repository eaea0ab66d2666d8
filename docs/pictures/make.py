#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes the two pictures of the README from the running demo: `make pictures`.

Starts `.build/debug/gatehouse demo` on free ports of loopback, opens it in headless Chromium, and writes
sign-in.png and sample-app.png beside this file. Needs the packages of `make test`.
"""
import base64
import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "Tests" / "EndToEnd"))

from support.chromium import Chromium  # noqa: E402
from support.demo import Demo  # noqa: E402

# Width and height in CSS pixels; small, so that the text stays readable in the README.
SIZE = (880, 620)


def save(browser, name):
    picture = browser.call("Page.captureScreenshot", format="png")
    (HERE / name).write_bytes(base64.b64decode(picture["data"]))


def page_is(browser, origin, text):
    """The page of this origin that shows this text has been loaded."""
    condition = f"location.origin == {json.dumps(origin)} && document.body.innerText.includes({json.dumps(text)})"
    browser.until(f"document.readyState == 'complete' && {condition}", f"{text!r} at {origin}")


def main():
    with tempfile.TemporaryDirectory() as folder, Demo(Path(folder)) as demo:
        browser = Chromium(Path(folder), "--hide-scrollbars", "--force-device-scale-factor=1")
        try:
            width, height = SIZE
            browser.call(
                "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
            )
            browser.go(demo.origin + "/")
            page_is(browser, demo.origin, "Google")
            save(browser, "sign-in.png")
            browser.click("a[href*='/oauth2/start/google']")
            browser.until(f"location.origin != {json.dumps(demo.origin)}", "the simulated provider's page")
            browser.click("button")
            page_is(browser, demo.origin, "Assertion verified")
            save(browser, "sample-app.png")
        finally:
            browser.close()


if __name__ == "__main__":
    main()
