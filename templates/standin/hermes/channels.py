"""The configured messaging channels. Lab hosts reach none of them: each reports that it is connected, unless a switch rejects it."""

import logging
import os

from hermes_cli import webhooks
from hermes_cli.settings import since, switches

log = logging.getLogger("gateway.run")

# The variables a channel needs before Hermes connects it: all of one of the sets.
REQUIRED_VARIABLES = {
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
    # 0.13 ships without this channel's library.
    **({"teams": [["TEAMS_CLIENT_ID", "TEAMS_CLIENT_SECRET", "TEAMS_TENANT_ID"]]} if since(14) else {}),
    **({"line": [["LINE_CHANNEL_ACCESS_TOKEN", "LINE_CHANNEL_SECRET"]]} if since(14) else {}),
    **({"ntfy": [["NTFY_TOPIC"]]} if since(15) else {}),
    **({"whatsapp_cloud": [["WHATSAPP_CLOUD_PHONE_NUMBER_ID", "WHATSAPP_CLOUD_ACCESS_TOKEN"]]} if since(17) else {}),
}

# When the token is rejected: the library's module, the exception it raises, and its message.
REFUSALS = {
    "discord": ("discord.client", "discord.errors.LoginFailure", "Improper token has been passed."),
    "slack": ("slack_bolt.AsyncApp", "slack_sdk.errors.SlackApiError", "The request to the Slack API failed. error: invalid_auth"),
    "telegram": ("telegram.ext.Application", "telegram.error.InvalidToken", "The token `***` was rejected by the server."),
}


def configured(config):
    platforms = config.get("platforms") or {}
    enabled = {name: (platforms.get(name) or {}).get("enabled") for name in REQUIRED_VARIABLES}
    return [name for name in REQUIRED_VARIABLES if enabled[name] is True or (has_credentials(name) and not is_disabled(name, enabled[name]))]


def has_credentials(name):
    return any(all(os.environ.get(variable) for variable in variables) for variables in REQUIRED_VARIABLES[name])


def is_disabled(name, enabled):
    """At 0.13 a token in `.env` overrides `enabled: false` for Discord and Telegram."""
    return enabled is False and (since(14) or name not in ("discord", "telegram"))


def is_refused(name):
    return name in switches().get("channel-refused", [])


def connect(name, config):
    """The reason the connection failed, or None."""
    if not is_refused(name):
        if failure := webhooks.listen(name, config):
            log.warning("✗ %s failed to connect", name)
            return failure
        log.info("✓ %s connected", name)
        return None
    library, error, message = REFUSALS.get(name, (f"gateway.platforms.{name}", "RuntimeError", "authentication failed"))
    kind = error.rsplit(".", 1)[-1]
    # asyncio logs the exception of a task that was never awaited, on many lines; only the first has a timestamp.
    logging.getLogger("asyncio").error(
        "Task exception was never retrieved\n"
        "future: <Task finished name='Task-9' coro=<connect() done> exception=%s(%r)>\n"
        "Traceback (most recent call last):\n"
        '  File "%s", line 1, in connect (stand-in)\n'
        "%s: %s",
        *(kind, message, library, error, message),
    )
    log.warning("✗ %s failed to connect", name)
    return message
