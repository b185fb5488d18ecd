"""MCP servers: discovered before any platform connects, so a slow one delays the whole start."""

import logging
import time

from hermes_cli.settings import home, switches

log = logging.getLogger("tools.mcp_tool")


def discover(config, wait):
    """Starts no server. Hermes gives up after three attempts, and reports it only in the log."""
    table = config.get("mcp_servers")
    slow, dead = switches().get("mcp-slow"), switches().get("mcp-dead", [])
    if not table and slow is not None:
        table = {"slow": {}}
    servers = table.items() if isinstance(table, dict) else []
    enabled = {name: server for name, server in servers if isinstance(server, dict) and server.get("enabled") is not False}
    failed = 0
    for name, server in enabled.items():
        if "command" in server:
            log_start(name)
        if slow is None and name not in dead:
            log.info("MCP server '%s': registered 2 tool(s)", name)
            continue
        failed += 1
        if slow is not None:
            wait(float((slow or ["0"])[0]))
        log_failure(name, f"timed out after {server.get('connect_timeout', 60)}s" if slow is not None else "Connection closed")
    if enabled:
        connected = len(enabled) - failed
        log.info("MCP: registered %d tool(s) from %d server(s)%s", 2 * connected, connected, f" ({failed} failed)" if failed else "")


def log_failure(name, reason):
    for attempt in (1, 2, 3):
        log.warning("MCP server '%s' initial connection failed (attempt %d/3), retrying in %ds: %s", name, attempt, 2 ** (attempt - 1), reason)
    log.warning("MCP server '%s' failed initial connection after 3 attempts, giving up: %s", name, reason)
    log.warning("Failed to connect to MCP server '%s': %s", name, reason)


def log_start(name):
    """Servers' stderr goes to a separate file, where only this line has a time."""
    with open(home() / "logs" / "mcp-stderr.log", "a", encoding="utf-8") as file:
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        file.write(f"\n===== [{now}] starting MCP server '{name}' =====\nstand-in: {name} would run here\n")
