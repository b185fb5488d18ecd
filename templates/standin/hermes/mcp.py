"""MCP servers: asked for their tools before any platform is connected, so that a slow one delays everything."""

import logging
import time

from hermes_cli.settings import home, switches

log = logging.getLogger("tools.mcp_tool")


def discover(config, wait):
    """Starts none of them. A server is given up after three attempts, which nothing but the log tells of."""
    table = config.get("mcp_servers")
    slow, dead = switches().get("mcp-slow"), switches().get("mcp-dead", [])
    if not table and slow is not None:
        table = {"slow": {}}
    servers = table.items() if isinstance(table, dict) else []
    wanted = {name: server for name, server in servers if isinstance(server, dict) and server.get("enabled") is not False}
    failed = 0
    for name, server in wanted.items():
        if "command" in server:
            note(name)
        if slow is None and name not in dead:
            log.info("MCP server '%s': registered 2 tool(s)", name)
            continue
        failed += 1
        if slow is not None:
            wait(float((slow or ["0"])[0]))
        give_up(name, f"timed out after {server.get('connect_timeout', 60)}s" if slow is not None else "Connection closed")
    if wanted:
        alive = len(wanted) - failed
        log.info("MCP: registered %d tool(s) from %d server(s)%s", 2 * alive, alive, f" ({failed} failed)" if failed else "")


def give_up(name, why):
    for attempt in (1, 2, 3):
        log.warning("MCP server '%s' initial connection failed (attempt %d/3), retrying in %ds: %s", name, attempt, 2 ** (attempt - 1), why)
    log.warning("MCP server '%s' failed initial connection after 3 attempts, giving up: %s", name, why)
    log.warning("Failed to connect to MCP server '%s': %s", name, why)


def note(name):
    """What a server writes to its stderr is in a file of its own, without times but for this line."""
    with open(home() / "logs" / "mcp-stderr.log", "a", encoding="utf-8") as file:
        now = time.strftime("%Y-%m-%d %H:%M:%S")
        file.write(f"\n===== [{now}] starting MCP server '{name}' =====\nstand-in: {name} would run here\n")
