"""The environment of the terminal tool's commands: the gateway's, without the keys that Hermes knows."""

import os
import subprocess

from hermes_cli import channels, model, webhooks

# Variables of tools, and some others. Hermes passes on names it does not know, even if they look like keys.
TOOL_VARIABLES = {
    *("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_APP_ID", "GITHUB_APP_PRIVATE_KEY_PATH", "GITHUB_APP_INSTALLATION_ID"),
    *("OPENAI_API_BASE", "OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_API_KEY", "OPENAI_BASE_URL", "LLM_MODEL"),
    *("MISTRAL_API_KEY", "GROQ_API_KEY", "TOGETHER_API_KEY", "PERPLEXITY_API_KEY", "COHERE_API_KEY", "FIREWORKS_API_KEY", "HELICONE_API_KEY"),
    *("EXA_API_KEY", "PARALLEL_API_KEY", "FIRECRAWL_API_KEY", "FIRECRAWL_API_URL", "TAVILY_API_KEY", "BROWSERBASE_API_KEY", "BROWSERBASE_PROJECT_ID"),
    *("BROWSER_USE_API_KEY", "CAMOFOX_URL", "FAL_KEY", "WANDB_API_KEY", "VOICE_TOOLS_OPENAI_KEY", "ELEVENLABS_API_KEY", "HONCHO_API_KEY", "HONCHO_BASE_URL"),
    *("MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET", "DAYTONA_API_KEY", "SUDO_PASSWORD", "API_SERVER_KEY", "WEBHOOK_SECRET", "GATEWAY_ALLOWED_USERS"),
}


def hidden_variables():
    provider_keys = {name for _, base, keys in model.VENDORS.values() for name in [base, *keys]}
    channel_keys = {name for sets in channels.REQUIRED_VARIABLES.values() for variables in sets for name in variables}
    hosts = {name for name, *_ in webhooks.LISTENERS.values() if name}
    return TOOL_VARIABLES | provider_keys | channel_keys | hosts


def tool_environment():
    hidden = hidden_variables()
    return {name: value for name, value in os.environ.items() if name not in hidden}


def printenv(name):
    """The variable's value, as a command of the terminal tool sees it."""
    result = subprocess.run(["printenv", name], capture_output=True, text=True, timeout=10, check=False, env=tool_environment())
    return result.stdout.strip() if result.returncode == 0 else f"{name} is not set"
