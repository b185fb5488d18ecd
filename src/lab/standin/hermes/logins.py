"""Logins to subscriptions, which auth.json keeps.

The login of a stand-in is no login: it makes up a token, and points to the lab's provider that answers with what it was told.
"""

import json
import secrets
import time

from hermes_cli.settings import home, write_whole

ECHO = "http://127.0.0.1:4180/v1"


def auth():
    try:
        return json.loads((home() / "auth.json").read_text())
    except (OSError, ValueError):
        return {}


def keep_auth(**parts):
    """Lays these over what auth.json has."""
    write_whole(home() / "auth.json", json.dumps({"version": 1, **auth(), **parts}, indent=2))


def keep_pool(pool):
    """The keys found in the environment, beside logins, which came from elsewhere."""
    before = auth().get("credential_pool") or {}
    logins = {name: some for name, some in before.items() if not any(str(one.get("source")).startswith("env:") for one in some)}
    keep_auth(credential_pool={**logins, **pool})


def login(words, usage):
    """`hermes login --provider nous`, or for ChatGPT."""
    if words in (["--provider", "openai-codex"], ["openai-codex"]):
        return login_to_codex()
    if words not in (["--provider", "nous"], ["nous"]):
        return usage("login --provider nous|openai-codex   (a stand-in: it knows no other)")
    token = {"access_token": f"standin-{secrets.token_hex(16)}", "refresh_token": secrets.token_hex(16), "base_url": ECHO}
    keep_auth(providers={**(auth().get("providers") or {}), "nous": token})
    return said_login("Nous Portal")


def add_login(words, usage):
    """`hermes auth add xai-oauth`, or for ChatGPT."""
    if words[:2] == ["add", "openai-codex"]:
        return login_to_codex()
    if words[:2] != ["add", "xai-oauth"]:
        return usage("auth add xai-oauth|openai-codex [--type oauth]   (a stand-in: it knows no other)")
    token = {"source": "oauth", "access_token": f"standin-{secrets.token_hex(16)}", "base_url": ECHO}
    keep_auth(credential_pool={**(auth().get("credential_pool") or {}), "xai-oauth": [token]})
    return said_login("xAI Grok OAuth")


def login_to_codex():
    """A device code, as the real one has it; nobody has to type it anywhere."""
    print("To continue, follow these steps:\n\n  1. Open this URL in your browser:\n     https://auth.openai.com/codex/device\n", flush=True)
    print("  2. Enter this code:\n     STND-IN42\n\nWaiting for sign-in... (press Ctrl+C to cancel)", flush=True)
    tokens = {"access_token": f"standin-{secrets.token_hex(16)}", "refresh_token": secrets.token_hex(16), "base_url": ECHO}
    kept = {"tokens": tokens, "last_refresh": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "auth_mode": "chatgpt"}
    keep_auth(providers={**(auth().get("providers") or {}), "openai-codex": kept})
    return said_login("ChatGPT (Codex)")


def of_codex():
    """Hermes' own tokens, which are not those of the Codex CLI."""
    return ((auth().get("providers") or {}).get("openai-codex") or {}).get("tokens") or {}


def said_login(title):
    print(f"Logged in to {title}. (A stand-in: no login took place; it points to {ECHO}.)")
    return 0
