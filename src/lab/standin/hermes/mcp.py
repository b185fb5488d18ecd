"""MCP servers: asked for their tools before any platform is connected, so that a slow one delays everything."""

import logging
import time

from hermes_cli.settings import home, switches

log = logging.getLogger("tools.mcp_tool")


def discover(config, wait):
    """Starts none of them. With `mcp-slow N` each keeps the gateway waiting for N seconds, and then is given up."""
    table = config.get("mcp_servers")
    slow = switches().get("mcp-slow")
    if not table and slow is not None:
        table = {"slow": {}}
    for name, server in table.items() if isinstance(table, dict) else []:
        if not isinstance(server, dict) or server.get("enabled") is False:
            continue
        if "command" in server:
            note(name)
        if slow is None:
            log.info("MCP server '%s': registered 2 tool(s)", name)
            continue
        wait(float((slow or ["0"])[0]))
        limit = server.get("connect_timeout", 60)
        log.warning("MCP server '%s' initial connection failed (attempt 1/3), retrying in 1s: timed out after %ss", name, limit)
        log.warning("Failed to connect to MCP server '%s': timed out after %ss", name, limit)


def note(name):
    """What a server writes to its stderr is in a file of its own, without times but for this line."""
    with open(home() / "logs" / "mcp-stderr.log", "a", encoding="utf-8") as file:
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        file.write(f"\n===== [{now}] starting MCP server '{name}' =====\nstand-in: {name} would run here\n")
