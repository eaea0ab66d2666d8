# SPDX-License-Identifier: Apache-2.0
"""An MCP server with the official SDK, without any authorization of its own: `mcp_server.py PORT`."""

import sys

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("notes")


@server.tool()
def search(text: str) -> str:
    """Finds notes."""
    return f"found {text}"


@server.tool()
def delete_note(name: str) -> str:
    """Deletes a note."""
    return f"deleted {name}"


@server.tool()
def user(ctx: Context) -> dict[str, str]:
    """What the gateway has sent about the user."""
    return {name.lower(): value for name, value in ctx.request_context.request.headers.items()}


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
