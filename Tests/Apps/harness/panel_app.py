# SPDX-License-Identifier: Apache-2.0
"""A small Panel app, served by the tests: panel serve panel_app.py."""

import panel

count = panel.widgets.StaticText(value="clicked 0")


def add(event):
    count.value = f"clicked {event.new}"


button = panel.widgets.Button(name="click", css_classes=["adds"])
button.on_click(add)
panel.Column(button, count).servable()
