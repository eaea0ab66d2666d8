# SPDX-License-Identifier: Apache-2.0
"""A small Gradio app, started by the tests: python gradio_app.py PORT [ROOT_PATH]."""

import sys

import gradio


def greet(name):
    return f"Hello {name}"


def count(limit):
    for number in range(int(limit)):
        yield str(number)


with gradio.Blocks(analytics_enabled=False) as app:
    name, greeting = gradio.Textbox(label="name"), gradio.Textbox(label="greeting")
    button = gradio.Button("greet", elem_id="greet")
    button.click(greet, name, greeting, api_name="greet")
    button.click(count, name, greeting, api_name="count")

app.launch(
    server_name="127.0.0.1",
    server_port=int(sys.argv[1]),
    root_path=sys.argv[2] if len(sys.argv) > 2 else None,
    quiet=True,
    share=False,
    ssr_mode=False,
)
