"""The messaging channels that are configured. No lab host reaches one: each says it is connected, unless a switch refuses it."""

import logging
import os

from hermes_cli import listening
from hermes_cli.settings import since, switches

log = logging.getLogger("gateway.run")

# What each needs before it is tried: all of the variables, or all of another set of them.
NEEDS = {
    "discord": [["DISCORD_BOT_TOKEN"]],
    "slack": [["SLACK_BOT_TOKEN"]],
    "telegram": [["TELEGRAM_BOT_TOKEN"]],
    "whatsapp": [["WHATSAPP_ENABLED"]],
    "signal": [["SIGNAL_HTTP_URL", "SIGNAL_ACCOUNT"]],
    "email": [["EMAIL_ADDRESS", "EMAIL_PASSWORD", "EMAIL_IMAP_HOST", "EMAIL_SMTP_HOST"]],
    "matrix": [["MATRIX_HOMESERVER", "MATRIX_ACCESS_TOKEN"], ["MATRIX_HOMESERVER", "MATRIX_USER_ID", "MATRIX_PASSWORD"]],
    "mattermost": [["MATTERMOST_URL", "MATTERMOST_TOKEN"]],
    "sms": [["TWILIO_ACCOUNT_SID", "TWILIO_AUTH_TOKEN", "TWILIO_PHONE_NUMBER"]],
    "homeassistant": [["HASS_TOKEN"]],
    "irc": [["IRC_SERVER", "IRC_CHANNEL"]],
    "webhook": [["WEBHOOK_ENABLED"]],
    "dingtalk": [["DINGTALK_CLIENT_ID", "DINGTALK_CLIENT_SECRET"]],
    "feishu": [["FEISHU_APP_ID", "FEISHU_APP_SECRET"]],
    "wecom": [["WECOM_BOT_ID", "WECOM_SECRET"]],
    "wecom_callback": [["WECOM_CALLBACK_CORP_ID", "WECOM_CALLBACK_CORP_SECRET"]],
    "qqbot": [["QQ_APP_ID"], ["QQ_CLIENT_SECRET"]],
    "bluebubbles": [["BLUEBUBBLES_SERVER_URL", "BLUEBUBBLES_PASSWORD"]],
    # 0.13 comes without the library of this one.
    **({"teams": [["TEAMS_CLIENT_ID", "TEAMS_CLIENT_SECRET", "TEAMS_TENANT_ID"]]} if since(14) else {}),
    **({"line": [["LINE_CHANNEL_ACCESS_TOKEN", "LINE_CHANNEL_SECRET"]]} if since(14) else {}),
    **({"ntfy": [["NTFY_TOPIC"]]} if since(15) else {}),
    **({"whatsapp_cloud": [["WHATSAPP_CLOUD_PHONE_NUMBER_ID", "WHATSAPP_CLOUD_ACCESS_TOKEN"]]} if since(17) else {}),
}

# The library each is spoken to with, what that raises, and its words.
REFUSALS = {
    "discord": ("discord.client", "discord.errors.LoginFailure", "Improper token has been passed."),
    "slack": ("slack_bolt.AsyncApp", "slack_sdk.errors.SlackApiError", "The request to the Slack API failed. error: invalid_auth"),
    "telegram": ("telegram.ext.Application", "telegram.error.InvalidToken", "The token `***` was rejected by the server."),
}


def configured(config):
    table = config.get("platforms") or {}
    said = {name: (table.get(name) or {}).get("enabled") for name in NEEDS}
    return [name for name in NEEDS if said[name] is True or (has_needs(name) and not switched_off(name, said[name]))]


def has_needs(name):
    return any(all(os.environ.get(variable) for variable in variables) for variables in NEEDS[name])


def switched_off(name, enabled):
    """At 0.13 a token in `.env` is stronger than `enabled: false`, for these two."""
    return enabled is False and (since(14) or name not in ("discord", "telegram"))


def is_refused(name):
    return name in switches().get("channel-refused", [])


def connect(name, config):
    """Why it is refused, or None."""
    if not is_refused(name):
        if trouble := listening.listen(name, config):
            log.warning("✗ %s failed to connect", name)
            return trouble
        log.info("✓ %s connected", name)
        return None
    library, error, words = REFUSALS.get(name, (f"gateway.platforms.{name}", "RuntimeError", "authentication failed"))
    kind = error.rsplit(".", 1)[-1]
    # As asyncio tells of a task whose end nobody waited for: in many lines, of which only the first has a time.
    logging.getLogger("asyncio").error(
        "Task exception was never retrieved\n"
        "future: <Task finished name='Task-9' coro=<connect() done> exception=%s(%r)>\n"
        "Traceback (most recent call last):\n"
        '  File "%s", line 1, in connect (stand-in)\n'
        "%s: %s",
        *(kind, words, library, error, words),
    )
    log.warning("✗ %s failed to connect", name)
    return words
