"""Selects the provider from `.env` and `config.yaml` as this release does, and calls it."""

import http.client
import io
import json
import os
import re
import socket
import threading
import time
import urllib.error
from dataclasses import dataclass
from urllib.parse import urlsplit

from hermes_cli import codex, logins
from hermes_cli.settings import since, switches


class NoProvider(Exception):
    """No usable provider: reported as HTTP 500, before any request to one."""


class CallFailed(Exception):
    """The provider failed: Hermes returns this message as if it were the answer."""


@dataclass
class Route:
    provider: str
    base: str
    key: str
    model: str
    mode: str = ""


# provider: default base URL, the variable that overrides it, the variables that may hold its key
VENDORS = {
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_BASE_URL", ["OPENROUTER_API_KEY", "OPENAI_API_KEY"]),
    "anthropic": (
        "https://api.anthropic.com",
        "ANTHROPIC_BASE_URL",
        ["ANTHROPIC_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "AZURE_ANTHROPIC_KEY", "ANTHROPIC_API_KEY"],
    ),
    "gemini": (
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_BASE_URL",
        ["GOOGLE_API_KEY", "GEMINI_API_KEY"],
    ),
    "zai": ("https://api.z.ai/api/paas/v4", "GLM_BASE_URL", ["GLM_API_KEY", "ZAI_API_KEY", "Z_AI_API_KEY"]),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_BASE_URL", ["DEEPSEEK_API_KEY"]),
    "xai": ("https://api.x.ai/v1", "XAI_BASE_URL", ["XAI_API_KEY"]),
    "nvidia": ("https://integrate.api.nvidia.com/v1", "NVIDIA_BASE_URL", ["NVIDIA_API_KEY"]),
    "huggingface": ("https://router.huggingface.co/v1", "HF_BASE_URL", ["HF_TOKEN"]),
    "azure-foundry": ("", "AZURE_FOUNDRY_BASE_URL", ["AZURE_FOUNDRY_API_KEY"]),
    "lmstudio": ("http://127.0.0.1:1234/v1", "LM_BASE_URL", ["LM_API_KEY"]),
    "kimi-coding": ("https://api.moonshot.ai/v1", "KIMI_BASE_URL", ["KIMI_API_KEY", "KIMI_CODING_API_KEY"]),
    "minimax": ("https://api.minimax.io/anthropic", "MINIMAX_BASE_URL", ["MINIMAX_API_KEY"]),
    "alibaba": ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_BASE_URL", ["DASHSCOPE_API_KEY"]),
    "arcee": ("https://api.arcee.ai/api/v1", "ARCEE_BASE_URL", ["ARCEEAI_API_KEY"]),
    "gmi": ("https://api.gmi-serving.com/v1", "GMI_BASE_URL", ["GMI_API_KEY"]),
    "stepfun": ("https://api.stepfun.ai/v1", "STEPFUN_BASE_URL", ["STEPFUN_API_KEY"]),
    "kilocode": ("https://api.kilo.ai/api/gateway", "KILOCODE_BASE_URL", ["KILOCODE_API_KEY"]),
    "xiaomi": ("https://api.xiaomimimo.com/v1", "XIAOMI_BASE_URL", ["XIAOMI_API_KEY"]),
    "tencent-tokenhub": ("https://tokenhub.tencentmaas.com/v1", "TOKENHUB_BASE_URL", ["TOKENHUB_API_KEY"]),
    "ollama-cloud": ("https://ollama.com/v1", "OLLAMA_BASE_URL", ["OLLAMA_API_KEY"]),
    "copilot": ("https://api.githubcopilot.com", "COPILOT_API_BASE_URL", ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"]),
}
if since(15):
    VENDORS["openai-api"] = ("https://api.openai.com/v1", "OPENAI_BASE_URL", ["OPENAI_API_KEY"])
if since(14):
    VENDORS["novita"] = ("https://api.novita.ai/openai/v1", "NOVITA_BASE_URL", ["NOVITA_API_KEY"])

ALIASES = {"azure": "azure-foundry", "glm": "zai", "google": "gemini", "claude": "anthropic", "grok": "xai"}
LOCAL = {"ollama", "vllm", "llamacpp"}
KEYLESS = "no-key-required"


def chosen_provider(config):
    """Up to 0.14 the variable overrides config.yaml: a stale one silently sends everything to another vendor."""
    configured = str(config["model"].get("provider") or "").strip().lower()
    variable = os.environ.get("HERMES_INFERENCE_PROVIDER", "").strip().lower()
    if variable and (not since(15) or configured in ("", "auto")):
        return variable
    return configured or "auto"


def resolve(config):
    model = config["model"]
    options = {"model": model.get("default"), "base_url": model.get("base_url"), "api_key": model.get("api_key")}
    route = route_to(config, chosen_provider(config), options)
    mode = model.get("api_mode") if chosen_provider(config) == str(model.get("provider")).lower() else None
    return complete_route(route, mode)


def route_to(config, provider, options):
    provider = ALIASES.get(provider, provider)
    model, base, key = (str(options.get(name) or "") for name in ("model", "base_url", "api_key"))
    if provider == "auto":
        provider = first_with_key(base)
    named = named_provider(config, provider)
    if named:
        key = named.get("api_key") or os.environ.get(named.get("key_env", ""), "") or KEYLESS
        base = named.get("api") or named.get("url") or named.get("base_url")
        return Route(provider, base, key, model or named.get("default_model", ""), named_mode(named))
    if provider in LOCAL and not since(15):
        base, provider = "", "custom"  # before 0.15 the alias ignores model.base_url
    if provider in LOCAL or provider == "custom":
        base = os.environ.get("CUSTOM_BASE_URL") or base
        if base:
            return Route("custom", base, custom_key(base, key), model)
        provider = "openrouter"
    if provider == "bedrock":
        return bedrock_route(config, model)
    if provider == "openai-codex":
        return codex_route(model)
    if provider == "vertex" and since(18):
        return vertex_route(config, model)
    if provider not in VENDORS:
        raise NoProvider(f"Unknown provider '{provider}'. Check 'hermes model' for available providers, or define it in config.yaml.")
    return vendor(provider, model, base)


def vendor(provider, model, base):
    default, base_variable, key_variables = VENDORS[provider]
    configured = "" if provider == "openrouter" else base
    base = configured or os.environ.get(base_variable) or default
    key = next((os.environ[name] for name in key_variables if os.environ.get(name)), "")
    if provider == "lmstudio":
        key = key or KEYLESS
    if not base:
        raise NoProvider(f"Provider '{provider}' needs a base URL: set {base_variable} or model.base_url.")
    if not key:
        raise NoProvider(
            f"Provider '{provider}' is set in config.yaml but no API key was found. "
            f"Set the {key_variables[0]} environment variable, or switch to a different provider with `hermes model`."
        )
    return Route(provider, base, key, model)


def first_with_key(base):
    if base and is_loopback(base):
        return "custom"
    for provider in ["openrouter", *VENDORS]:
        if any(os.environ.get(name) for name in VENDORS[provider][2]):
            return provider
    if os.environ.get("AWS_ACCESS_KEY_ID") or os.environ.get("AWS_BEARER_TOKEN_BEDROCK"):
        return "bedrock"
    raise NoProvider("No inference provider configured. Run 'hermes model' to choose a provider and model.")


def custom_key(base, key):
    """At 0.13 the OpenAI or OpenRouter key goes to the custom endpoint, whatever its host; from 0.15 on it does not."""
    if key:
        return key
    host = urlsplit(base).hostname or ""
    if not since(15):
        return os.environ.get("OPENAI_API_KEY") or os.environ.get("OPENROUTER_API_KEY") or KEYLESS
    if host.endswith("openrouter.ai"):
        return os.environ.get("OPENROUTER_API_KEY") or KEYLESS
    labels = host.split(".")
    name = labels[-2].upper().replace("-", "_") if len(labels) > 1 and not labels[-1].isdigit() else ""
    return (name and os.environ.get(f"{name}_API_KEY")) or KEYLESS


def named_provider(config, provider):
    name = provider.removeprefix("custom:")
    table = config.get("providers")
    if isinstance(table, dict) and isinstance(table.get(name), dict):
        return table[name]
    legacy = config.get("custom_providers")
    return next((entry for entry in legacy or [] if str(entry.get("name", "")).lower() == name), None)


def named_mode(named):
    return named.get("transport") or named.get("api_mode") or ""


def bedrock_route(config, model):
    table = config.get("bedrock") or {}
    region = table.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    key = os.environ.get("AWS_BEARER_TOKEN_BEDROCK") or os.environ.get("AWS_ACCESS_KEY_ID") or os.environ.get("AWS_PROFILE")
    if not key:
        raise NoProvider("No AWS credentials found for provider 'bedrock'.")
    return Route("bedrock", f"https://bedrock-runtime.{region}.amazonaws.com", key, model)


def codex_route(model):
    tokens = logins.codex_tokens()
    if not tokens.get("access_token"):
        raise NoProvider("No Codex credentials stored. Run `hermes auth` to authenticate.")
    base = os.environ.get("HERMES_CODEX_BASE_URL") or tokens.get("base_url") or "https://chatgpt.com/backend-api/codex"
    return Route("openai-codex", base, tokens["access_token"], model, "codex_responses")


def vertex_route(config, model):
    table = config.get("vertex") or {}
    file = os.environ.get("VERTEX_CREDENTIALS_PATH") or os.environ.get("GOOGLE_APPLICATION_CREDENTIALS") or ""
    if not os.path.exists(file):
        raise NoProvider("No Google credentials found for provider 'vertex'.")
    project = table.get("project_id") or os.environ.get("VERTEX_PROJECT_ID") or "unknown"
    region = table.get("region") or os.environ.get("VERTEX_REGION") or "global"
    return Route("vertex", f"https://aiplatform.googleapis.com/v1/projects/{project}/locations/{region}", "oauth", model)


def complete_route(route, mode):
    host = urlsplit(route.base).hostname or ""
    if mode or route.mode:
        route.mode = mode or route.mode
    elif route.provider == "anthropic" or route.base.rstrip("/").endswith("/anthropic"):
        route.mode = "anthropic_messages"
    elif route.provider in ("openai-api", "xai") or host in ("api.openai.com", "api.x.ai"):
        route.mode = "codex_responses"
    elif route.provider == "azure-foundry" and re.match(r"gpt-5|codex|o[1-4]", route.model):
        route.mode = "codex_responses"
    else:
        route.mode = "chat_completions"
    if not route.model and is_loopback(route.base):
        route.model = only_model(route)
    route.model = route.model or "anthropic/claude-opus-4.6"
    return route


def is_loopback(url):
    host = urlsplit(url).hostname or ""
    return host == "localhost" or host == "::1" or host.startswith("127.")


def only_model(route):
    try:
        models = request_json(f"{route.base.rstrip('/')}/models", {"Authorization": f"Bearer {route.key}"}, None)["data"]
        return models[0]["id"] if len(models) == 1 else ""
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return ""


def answer(config, system, messages):
    """Calls the configured provider, then the fallbacks. Returns the text, the usage and the route that answered."""
    routes = [resolve(config)]
    if codex.is_on(config, routes[0].provider):
        return answer_with_codex(routes[0], messages)
    for entry in fallbacks(config):
        try:
            routes.append(complete_route(route_to(config, str(entry.get("provider")), entry), entry.get("api_mode")))
        except NoProvider:
            continue
    attempts = max(1, int(config["agent"].get("api_max_retries") or 1))
    failure = rejected = ""
    for route in routes:
        for attempt in range(attempts):
            try:
                if "dead-upstream" in switches():
                    raise urllib.error.URLError("stand-in switch")
                text, usage = call(route, system, messages)
                return text, usage, route
            except urllib.error.HTTPError as error:
                body = json_body(error)
                if error.code < 500 and error.code != 429:
                    rejected = rejected or client_error_message(error, body)
                    break
                failure = failure or f"HTTP {error.code}: {error_message(error, body)}"
            except (OSError, http.client.HTTPException, ValueError, KeyError, IndexError, TypeError) as error:
                failure = failure or ("Request timed out." if isinstance(error, socket.timeout) else "Connection error.")
            if attempt + 1 < attempts:
                time.sleep(0.2)
    raise CallFailed(rejected or f"API call failed after {attempts} retries: {failure}")


def client_error_message(error, body):
    """Hermes does not retry client errors: it returns the openai library's message, from 0.18 on the status and the reason."""
    if since(18):
        return f"HTTP {error.code}: {error_message(error, body)}"
    return f"Error code: {error.code} - {body}"


def answer_with_codex(route, messages):
    """Codex uses its own login and model, and counts tokens itself."""
    try:
        prompt = messages[-1]["content"]
        text = codex.answer(prompt)
        return text, tokens({"in": 1 + len(prompt) // 4, "out": 1 + len(text) // 4}, "in", "out"), route
    except codex.CodexFailed as error:
        raise CallFailed(f"Codex app-server turn failed: {error}") from error


def fallbacks(config):
    listed = config.get("fallback_providers") or config.get("fallback_model") or []
    return [entry for entry in ([listed] if isinstance(listed, dict) else listed) if isinstance(entry, dict)]


def call(route, system, messages):
    base = route.base.rstrip("/")
    if route.mode == "anthropic_messages":
        headers = {"x-api-key": route.key, "anthropic-version": "2023-06-01"}
        body = {"model": route.model, "max_tokens": 4096, "system": system, "messages": messages}
        response = request_json(f"{base.removesuffix('/v1')}/v1/messages", headers, body)
        usage = response.get("usage", {})
        return "".join(part.get("text", "") for part in response["content"]), tokens(usage, "input_tokens", "output_tokens")
    headers = {"Authorization": f"Bearer {route.key}"}
    if route.mode == "codex_responses":
        response = request_json(f"{base}/responses", headers, {"model": route.model, "instructions": system, "input": messages})
        parts = [part for item in response["output"] if item.get("type") == "message" for part in item["content"]]
        usage = tokens(response.get("usage") or {}, "input_tokens", "output_tokens")
        return "".join(part.get("text", "") for part in parts), usage
    body = {"model": route.model, "messages": [{"role": "system", "content": system}, *messages]}
    response = request_json(f"{base}/chat/completions", headers, body)
    usage = tokens(response.get("usage") or {}, "prompt_tokens", "completion_tokens")
    return response["choices"][0]["message"].get("content") or "", usage


def tokens(usage, input_name, output_name):
    count = {"prompt_tokens": int(usage.get(input_name) or 0), "completion_tokens": int(usage.get(output_name) or 0)}
    return {**count, "total_tokens": sum(count.values())}


# Per thread, by scheme and host: as the real Hermes, connections are reused between requests.
connections = threading.local()


def request_json(url, headers, body):
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    request = ("GET" if body is None else "POST", parts.path + (f"?{parts.query}" if parts.query else ""))
    request += (None if body is None else json.dumps(body), {"Content-Type": "application/json", **headers})
    connection = vars(connections).pop(origin, None)
    try:
        response = connection and send_request(connection, request)
    except (ConnectionError, http.client.HTTPException):
        response = None  # the provider had closed the kept connection
    if response is None:
        connection_class = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = connection_class(parts.netloc, timeout=60)
        response = send_request(connection, request)
    data = response.read()
    if not response.will_close:
        vars(connections)[origin] = connection
    if response.status >= 300:
        raise urllib.error.HTTPError(url, response.status, response.reason, response.headers, io.BytesIO(data))
    return json.loads(data)


def send_request(connection, request):
    connection.request(*request)
    return connection.getresponse()


def json_body(error):
    """The parsed body of an error response; None when it is not JSON."""
    try:
        return json.loads(error.read())
    except (OSError, ValueError):
        return None


def error_message(error, body):
    try:
        error_field = body["error"]
        return error_field["message"] if isinstance(error_field, dict) else str(error_field)
    except (KeyError, TypeError):
        return error.reason
