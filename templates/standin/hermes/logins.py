"""Subscription logins, stored in auth.json.

The stand-in does not log in anywhere: it invents a token, and points to the lab's echo provider.
"""

import json
import secrets
import time

from hermes_cli.settings import home, since, write_atomically

ECHO = "http://127.0.0.1:4180/v1"


def auth():
    try:
        return json.loads((home() / "auth.json").read_text())
    except (OSError, ValueError):
        return {}


def update_auth(**parts):
    """Replaces these top-level keys of auth.json."""
    write_atomically(home() / "auth.json", json.dumps({"version": 1, **auth(), **parts}, indent=2))


def save_env_credentials(pool):
    """Replaces the entries from the environment, and keeps those of logins."""
    stored = auth().get("credential_pool") or {}
    logins = {name: entries for name, entries in stored.items() if not any(str(entry.get("source")).startswith("env:") for entry in entries)}
    update_auth(credential_pool={**logins, **pool})


def removed():
    """`hermes login`, at every release: prints a notice, logs nobody in, and exits with 0."""
    print("The `hermes login` command has been removed.")
    print("Use `hermes auth add <provider>` to log in, or `hermes model` to choose a provider.")
    return 0


def command(words, usage):
    """`hermes auth`; `status` exits with 0 whether logged in or not."""
    match words:
        case ["add", provider, *flags] if is_addable(provider) and parse_flags(flags) is not None:
            return ADDABLE[provider]()
        case ["status", provider]:
            print(f"{provider}: {'logged in' if has_login(provider) else 'logged out (no credentials stored)'}")
            return 0
        case ["list"]:
            for name, entries in (auth().get("credential_pool") or {}).items():
                print(f"{name} ({len(entries)} credentials)")
            return 0
        case _:
            providers = "|".join(name for name in ADDABLE if is_addable(name))
            return usage(f"auth add {providers} [--type oauth] [--no-browser] [--label TEXT] [--timeout SECONDS] | status PROVIDER | list   (a stand-in)")


def parse_flags(words):
    """The flags of `auth add`; None when argparse would refuse them."""
    valued = {"--type", "--label", "--timeout"}
    bare = {"--no-browser", *(["--manual-paste"] if since(15) else [])}
    flags, rest = {}, list(words)
    while rest:
        word = rest.pop(0)
        if word in bare:
            flags[word] = True
        elif word in valued and rest:
            flags[word] = rest.pop(0)
        else:
            return None
    return flags if flags.get("--type", "oauth") == "oauth" else None


def is_addable(provider):
    return provider in ADDABLE and (provider != "xai-oauth" or since(14))


def has_login(provider):
    stored = auth()
    login = (stored.get("providers") or {}).get(provider) or {}
    return bool(login.get("access_token") or (login.get("tokens") or {}).get("access_token") or pool_entry(provider))


def pool_entry(provider):
    """The provider's first pool entry that has a token."""
    entries = (auth().get("credential_pool") or {}).get(provider) or []
    return next((entry for entry in entries if entry.get("access_token")), {})


def fake_tokens():
    return {"access_token": f"standin-{secrets.token_hex(16)}", "refresh_token": secrets.token_hex(16), "base_url": ECHO}


def save_provider(name, login):
    update_auth(providers={**(auth().get("providers") or {}), name: login})


def add_to_pool(name, entry):
    pool = auth().get("credential_pool") or {}
    entries = pool.get(name) or []
    entry = {"id": secrets.token_hex(3), "label": f"{name}-oauth-{len(entries) + 1}", "auth_type": "oauth", "priority": len(entries), **entry}
    update_auth(credential_pool={**pool, name: [*entries, entry]})


def login_to_nous():
    save_provider("nous", fake_tokens())
    return report_login("Nous Portal")


def login_to_xai():
    add_to_pool("xai-oauth", {"source": "manual:xai_pkce", **fake_tokens()})
    return report_login("xAI Grok OAuth")


def login_to_codex():
    """Prints a device code as the real Hermes does, but needs no sign-in. Only 0.16 stores the login outside the pool."""
    print("To continue, follow these steps:\n\n  1. Open this URL in your browser:\n     https://auth.openai.com/codex/device\n", flush=True)
    print("  2. Enter this code:\n     STND-IN42\n\nWaiting for sign-in... (press Ctrl+C to cancel)", flush=True)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if since(16) and not since(17):
        save_provider("openai-codex", {"tokens": fake_tokens(), "last_refresh": now, "auth_mode": "chatgpt"})
    else:
        add_to_pool("openai-codex", {"source": "manual:device_code", **fake_tokens(), "last_refresh": now})
    return report_login("ChatGPT (Codex)")


ADDABLE = {"nous": login_to_nous, "xai-oauth": login_to_xai, "openai-codex": login_to_codex}


def codex_tokens():
    """Hermes' own Codex tokens; the Codex CLI has separate ones."""
    tokens = ((auth().get("providers") or {}).get("openai-codex") or {}).get("tokens") or {}
    return tokens if tokens.get("access_token") else pool_entry("openai-codex")


def report_login(title):
    print(f"Logged in to {title}. (A stand-in: no login took place; it points to {ECHO}.)")
    return 0
