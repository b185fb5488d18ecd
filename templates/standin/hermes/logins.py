"""Logins to subscriptions, which auth.json keeps.

The login of a stand-in is no login: it makes up a token, and points to the lab's provider that answers with what it was told.
"""

import json
import secrets
import time

from hermes_cli.settings import home, since, write_whole

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


def removed():
    """`hermes login`, at every release: a notice, and 0. Nobody is logged in by it."""
    print("The `hermes login` command has been removed.")
    print("Use `hermes auth add <provider>` to log in, or `hermes model` to choose a provider.")
    return 0


def command(words, usage):
    """`hermes auth`; its exit code is 0 whether somebody is logged in or not."""
    match words:
        case ["add", provider, *flags] if is_addable(provider) and flags_of(flags) is not None:
            return ADDABLE[provider]()
        case ["status", provider]:
            print(f"{provider}: {'logged in' if has_login(provider) else 'logged out (no credentials stored)'}")
            return 0
        case ["list"]:
            for name, some in (auth().get("credential_pool") or {}).items():
                print(f"{name} ({len(some)} credentials)")
            return 0
        case _:
            some = "|".join(name for name in ADDABLE if is_addable(name))
            return usage(f"auth add {some} [--type oauth] [--no-browser] [--label TEXT] [--timeout SECONDS] | status PROVIDER | list   (a stand-in)")


def flags_of(words):
    """The flags of `auth add`; None when argparse would refuse them."""
    valued = {"--type", "--label", "--timeout"}
    bare = {"--no-browser", *(["--manual-paste"] if since(15) else [])}
    given, rest = {}, list(words)
    while rest:
        word = rest.pop(0)
        if word in bare:
            given[word] = True
        elif word in valued and rest:
            given[word] = rest.pop(0)
        else:
            return None
    return given if given.get("--type", "oauth") == "oauth" else None


def is_addable(provider):
    return provider in ADDABLE and (provider != "xai-oauth" or since(14))


def has_login(provider):
    stored = auth()
    kept = (stored.get("providers") or {}).get(provider) or {}
    return bool(kept.get("access_token") or (kept.get("tokens") or {}).get("access_token") or pooled(provider))


def pooled(provider):
    """The first entry of the pool that has a token."""
    some = (auth().get("credential_pool") or {}).get(provider) or []
    return next((one for one in some if one.get("access_token")), {})


def made_up():
    return {"access_token": f"standin-{secrets.token_hex(16)}", "refresh_token": secrets.token_hex(16), "base_url": ECHO}


def keep_provider(name, kept):
    keep_auth(providers={**(auth().get("providers") or {}), name: kept})


def add_to_pool(name, entry):
    pool = auth().get("credential_pool") or {}
    some = pool.get(name) or []
    entry = {"id": secrets.token_hex(3), "label": f"{name}-oauth-{len(some) + 1}", "auth_type": "oauth", "priority": len(some), **entry}
    keep_auth(credential_pool={**pool, name: [*some, entry]})


def login_to_nous():
    keep_provider("nous", made_up())
    return said_login("Nous Portal")


def login_to_xai():
    add_to_pool("xai-oauth", {"source": "manual:xai_pkce", **made_up()})
    return said_login("xAI Grok OAuth")


def login_to_codex():
    """A device code, as the real one has it; nobody has to type it anywhere. Only 0.16 keeps it outside of the pool."""
    print("To continue, follow these steps:\n\n  1. Open this URL in your browser:\n     https://auth.openai.com/codex/device\n", flush=True)
    print("  2. Enter this code:\n     STND-IN42\n\nWaiting for sign-in... (press Ctrl+C to cancel)", flush=True)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if since(16) and not since(17):
        keep_provider("openai-codex", {"tokens": made_up(), "last_refresh": now, "auth_mode": "chatgpt"})
    else:
        add_to_pool("openai-codex", {"source": "manual:device_code", **made_up(), "last_refresh": now})
    return said_login("ChatGPT (Codex)")


ADDABLE = {"nous": login_to_nous, "xai-oauth": login_to_xai, "openai-codex": login_to_codex}


def of_codex():
    """Hermes' own tokens, which are not those of the Codex CLI."""
    kept = ((auth().get("providers") or {}).get("openai-codex") or {}).get("tokens") or {}
    return kept if kept.get("access_token") else pooled("openai-codex")


def said_login(title):
    print(f"Logged in to {title}. (A stand-in: no login took place; it points to {ECHO}.)")
    return 0
