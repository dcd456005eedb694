"""Offer run, check, report, explain, fix and list_runs to a coding agent, over the Model Context Protocol (stdio).

The agent's configuration starts it in the folder of a project: `{"command": "torchwhy", "args": ["mcp"]}`. Scripts and
runs outside that folder are refused, no shell is used, the source is never changed, and long output is cut. A script
runs with your rights, as if you had started it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from torchwhy.errors import UsageError


def configure(parser: argparse.ArgumentParser) -> None:
    """Add no option: the folder is the one that the server is started in."""
    del parser


def execute(options: argparse.Namespace) -> int:
    """Serve until the client closes the standard input."""
    del options
    try:
        import mcp.server.mcpserver  # noqa: F401 - whether the extra is there
    except ImportError:
        raise UsageError(
            "`torchwhy mcp` needs the package mcp: `pip install 'torchwhy[mcp]'`.",
            slug="missing-extra",
        ) from None
    from torchwhy.commands.agents.mcp_tools import make_server

    make_server(Path.cwd()).run("stdio")
    return 0
