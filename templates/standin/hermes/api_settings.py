"""The API server's settings, and whether this release starts it with them."""

import ipaddress
import os
import socket

from hermes_cli.settings import since, switches

PLACEHOLDERS = {"*", "**", "***", "changeme", "your_api_key", "your-api-key", "placeholder", "example", "dummy", "null", "none"}
if since(18):
    PLACEHOLDERS.add("your_api_key_here")


class ApiSettings:
    def __init__(self, config):
        platform = (config["platforms"] or {}).get("api_server") or {}
        extra = platform.get("extra") or {}
        getenv = os.environ.get
        self.key = getenv("API_SERVER_KEY") or str(extra.get("key") or "")
        self.host = getenv("API_SERVER_HOST") or str(extra.get("host") or "127.0.0.1")
        port = getenv("API_SERVER_PORT", "")
        self.port = int(port) if port.isdigit() else int(extra.get("port") or 8642)
        origins = getenv("API_SERVER_CORS_ORIGINS") or extra.get("cors_origins") or ""
        names = origins if isinstance(origins, list) else str(origins).split(",")
        self.origins = {origin.strip() for origin in names if origin.strip()}
        self.model_name = getenv("API_SERVER_MODEL_NAME") or extra.get("model_name") or "hermes-agent"
        enabled = getenv("API_SERVER_ENABLED", "").lower() in ("true", "1", "yes")
        self.enabled = enabled or bool(getenv("API_SERVER_KEY")) or platform.get("enabled") is True


def is_network_accessible(host):
    try:
        addresses = [ipaddress.ip_address(host)]
    except ValueError:
        try:
            addresses = [ipaddress.ip_address(info[4][0]) for info in socket.getaddrinfo(host, None)]
        except OSError:
            return True
    return not all((getattr(address, "ipv4_mapped", None) or address).is_loopback for address in addresses)


def usable(key, min_length):
    return len(key.strip()) >= min_length and key.strip().lower() not in PLACEHOLDERS


def refusal(settings):
    """The reason this release refuses to start the server with that key and address, or None."""
    public = is_network_accessible(settings.host)
    if "key-refused" in switches():
        return "Refusing to start: API_SERVER_KEY is set to a placeholder value. (a switch of the stand-in)"
    if not settings.key:
        if since(15):
            return "Refusing to start: API_SERVER_KEY is required. Generate one with `openssl rand -hex 32`."
        if public:
            return f"Refusing to start: binding to {settings.host} requires API_SERVER_KEY. Set API_SERVER_KEY or use the default 127.0.0.1."
    elif (since(18) or public) and not usable(settings.key, 16 if since(18) else 8):
        return "Refusing to start: API_SERVER_KEY is set to a placeholder value. Generate a real secret (e.g. `openssl rand -hex 32`)."
    return None


def is_taken(port):
    if "port-taken" in switches():
        return True
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False
