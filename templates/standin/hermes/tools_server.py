"""`python -m agent.transports.hermes_tools_mcp_server`: the tools of Hermes for Codex, over MCP on stdio.

The stand-in lists all their names but implements only skills_list and skill_view.
"""

import json
import sys

from hermes_cli.settings import home

TOOLS = [
    *("web_search", "web_extract", "vision_analyze", "image_generate", "text_to_speech", "skills_list", "skill_view"),
    *(f"browser_{action}" for action in ("navigate", "click", "type", "press", "snapshot", "scroll", "back", "get_images", "console", "vision")),
    *(f"kanban_{action}" for action in ("complete", "block", "comment", "heartbeat", "show", "list", "create", "unblock", "link")),
]


def main():
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer(request["method"], request.get("params") or {})}), flush=True)


def answer(method, params):
    if method == "initialize":
        info = {"name": "hermes-tools", "version": "0.1"}
        return {"result": {"protocolVersion": params.get("protocolVersion"), "capabilities": {"tools": {}}, "serverInfo": info}}
    if method == "tools/list":
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        return {"result": {"tools": [{"name": name, "description": "a tool of the stand-in", "inputSchema": schema} for name in TOOLS]}}
    if method == "tools/call":
        return {"result": {"content": [{"type": "text", "text": call_tool(params.get("name"), params.get("arguments") or {})}]}}
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": -32601, "message": f"{method} is not known"}}


def call_tool(name, arguments):
    skills = home() / "skills"
    if name == "skills_list":
        return "\n".join(sorted(path.name for path in skills.iterdir())) if skills.is_dir() else ""
    if name == "skill_view":
        path = skills / str(arguments.get("name")) / "SKILL.md"
        return path.read_text() if path.is_file() and path.resolve().is_relative_to(skills.resolve()) else "no such skill"
    return f"the stand-in has no {name}"


if __name__ == "__main__":
    main()
