"""What commands of the agent's terminal tool have of the gateway's environment: no key of a provider, tool or channel that Hermes knows."""

import os
import subprocess

from hermes_cli import channels, listening, model

# Keys of tools, and what has no other place. A name that Hermes does not know is left in, whatever it looks like.
KNOWN = {
    *("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_APP_ID", "GITHUB_APP_PRIVATE_KEY_PATH", "GITHUB_APP_INSTALLATION_ID"),
    *("OPENAI_API_BASE", "OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_API_KEY", "OPENAI_BASE_URL", "LLM_MODEL"),
    *("MISTRAL_API_KEY", "GROQ_API_KEY", "TOGETHER_API_KEY", "PERPLEXITY_API_KEY", "COHERE_API_KEY", "FIREWORKS_API_KEY", "HELICONE_API_KEY"),
    *("EXA_API_KEY", "PARALLEL_API_KEY", "FIRECRAWL_API_KEY", "FIRECRAWL_API_URL", "TAVILY_API_KEY", "BROWSERBASE_API_KEY", "BROWSERBASE_PROJECT_ID"),
    *("BROWSER_USE_API_KEY", "CAMOFOX_URL", "FAL_KEY", "WANDB_API_KEY", "VOICE_TOOLS_OPENAI_KEY", "ELEVENLABS_API_KEY", "HONCHO_API_KEY", "HONCHO_BASE_URL"),
    *("MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET", "DAYTONA_API_KEY", "SUDO_PASSWORD", "API_SERVER_KEY", "WEBHOOK_SECRET", "GATEWAY_ALLOWED_USERS"),
}


def stripped():
    vendors = {name for _, base, keys in model.VENDORS.values() for name in [base, *keys]}
    needed = {name for ways in channels.NEEDS.values() for way in ways for name in way}
    hosts = {name for name, *_ in listening.LISTENERS.values() if name}
    return KNOWN | vendors | needed | hosts


def for_tools():
    out = stripped()
    return {name: value for name, value in os.environ.items() if name not in out}


def shown(name):
    """What the terminal tool finds under that name."""
    ran = subprocess.run(["printenv", name], capture_output=True, text=True, timeout=10, check=False, env=for_tools())
    return ran.stdout.strip() if ran.returncode == 0 else f"{name} is not set"
