"""The providers, one row each: a provider that speaks a known wire is one more row and no code."""

from __future__ import annotations

from typing import Literal

from msgspec import field
from msgspec.structs import replace

from pilothouse.models.copilot_login import COPILOT_VARIABLES, GITHUB_VARIABLES
from pilothouse.types.models import Provider, ProviderView

# Where a key stands in a request: as the wire usually has it, or in a header of the provider's own.
KeyPlace = Literal["wire", "bearer", "api-key", "x-api-key"]


class Row(ProviderView, frozen=True, kw_only=True, rename="camel"):
    """One provider: as people know it, and how its requests differ from its wire's."""

    wire: Provider = "openai-compatible"
    # Other hosts of the same provider.
    hosts: tuple[str, ...] = ()
    key: KeyPlace = "wire"
    # What AWS calls it in a signature.
    aws_service: str = ""
    # The path after the base address, where it is not the wire's own; "{model}" stands in it.
    path: str = ""
    # Sent with every request; None takes a header of the wire's out.
    headers: dict[str, str | None] = field(default_factory=dict)
    # Laid over every request; None takes a field of the wire's out.
    extra: dict[str, object] = field(default_factory=dict)
    # Fields of the wire that it refuses.
    lacks: tuple[str, ...] = ()
    # Whether it ends answers early unless it is told how long they may be.
    brief: bool = False
    # The path that lists its models: None as the wire does, empty for none.
    lists: str | None = None
    # Further paths, where that list is not all of them.
    also_lists: tuple[str, ...] = ()
    # What stands in its host and in that of its lists, where these have one of their own; only what signs goes there.
    lists_at: tuple[str, str] | None = None
    # What the names of those have in common that this way is for.
    family: str = ""


# Mistral refuses whatever it does not know, and counts tokens without being asked to.
_STRICT = ("stream_options", "chat_template_kwargs")

# What the ways of asking one provider have in common; a row below says how each differs.
_OPENAI = Row(
    id="openai",
    name="OpenAI",
    wire="openai-responses",
    base_url="https://api.openai.com/v1",
    variables=("OPENAI_API_KEY",),
    keys_at="https://platform.openai.com/api-keys",
    model="gpt-5",
)
_COPILOT = Row(
    id="copilot",
    name="GitHub Copilot",
    base_url="https://api.githubcopilot.com",
    hosts=("api.{plan}.githubcopilot.com",),
    variables=COPILOT_VARIABLES,
    guarded=GITHUB_VARIABLES,
    keys_at="https://github.com/settings/personal-access-tokens",
    key="bearer",
    signs="copilot",
    model="gpt-4.1",
    path="/chat/completions",
    lacks=("chat_template_kwargs",),
    note="Uses your sign-in to Copilot on the server's machine; GitHub documents no API for it and may refuse.",
)
_AZURE = Row(
    id="azure",
    name="Azure OpenAI",
    wire="openai-responses",
    base_url="https://{resource}.openai.azure.com/openai/v1",
    hosts=("{resource}.cognitiveservices.azure.com", "{resource}.services.ai.azure.com"),
    variables=("AZURE_OPENAI_API_KEY",),
    guarded=("AZURE_API_KEY",),
    keys_at="https://ai.azure.com",
    key="api-key",
    note="The model is the name that you gave your deployment.",
)
_AZURE_CHAT = replace(
    _AZURE,
    id="azure-chat",
    name="Azure OpenAI (chat completions)",
    wire="openai-compatible",
    lacks=("chat_template_kwargs",),
)
_BEDROCK = Row(
    id="bedrock-converse",
    name="Amazon Bedrock (Nova, Llama and others)",
    wire="bedrock-converse",
    base_url="https://bedrock-runtime.{region}.amazonaws.com",
    hosts=(
        "bedrock-runtime-fips.{region}.amazonaws.com",
        "bedrock-runtime.{region}.api.aws",
        "bedrock-runtime-fips.{region}.api.aws",
    ),
    variables=("AWS_BEARER_TOKEN_BEDROCK",),
    keys_at="https://console.aws.amazon.com/bedrock/home#/api-keys",
    key="bearer",
    signs="aws",
    aws_service="bedrock",
    model="us.amazon.nova-pro-v1:0",
    lists="/foundation-models?byInferenceType=ON_DEMAND&byOutputModality=TEXT",
    also_lists=("/inference-profiles?maxResults=1000&type=SYSTEM_DEFINED",),
    lists_at=("bedrock-runtime", "bedrock"),
    note="Signs with the server's AWS credentials, or takes a Bedrock API key.",
)
_VERTEX = Row(
    id="vertex",
    name="Google Vertex AI (Gemini)",
    wire="gemini",
    base_url="https://aiplatform.googleapis.com/v1/projects/{project}/locations/global",
    hosts=("{location}-aiplatform.googleapis.com", "aiplatform.{area}.rep.googleapis.com"),
    keys_at="https://console.cloud.google.com/iam-admin/serviceaccounts",
    key="bearer",
    signs="google",
    model="gemini-2.5-flash",
    path="/publishers/google/models/{model}:streamGenerateContent?alt=sse",
    lists="/v1beta1/publishers/google/models?pageSize=1000",
    family="gemini",
    note="Takes a service account's key, or the server's Google credentials.",
)

ROWS: tuple[Row, ...] = (
    Row(
        id="anthropic",
        name="Anthropic",
        wire="anthropic-compatible",
        base_url="https://api.anthropic.com",
        variables=("ANTHROPIC_API_KEY",),
        guarded=("ANTHROPIC_AUTH_TOKEN",),
        keys_at="https://platform.claude.com/settings/keys",
        model="claude-sonnet-4-5",
    ),
    _OPENAI,
    replace(
        _OPENAI,
        id="openai-chat",
        name="OpenAI (chat completions)",
        wire="openai-compatible",
        model="gpt-4.1",
    ),
    Row(
        id="gemini",
        name="Google Gemini",
        wire="gemini",
        base_url="https://generativelanguage.googleapis.com",
        variables=("GEMINI_API_KEY",),
        guarded=("GOOGLE_API_KEY",),
        keys_at="https://aistudio.google.com/apikey",
        model="gemini-2.5-flash",
    ),
    Row(
        id="openrouter",
        name="OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        variables=("OPENROUTER_API_KEY",),
        keys_at="https://openrouter.ai/settings/keys",
        model="openrouter/auto",
        headers={"x-title": "Pilothouse"},
    ),
    Row(
        id="groq",
        name="Groq",
        base_url="https://api.groq.com/openai/v1",
        variables=("GROQ_API_KEY",),
        keys_at="https://console.groq.com/keys",
        model="openai/gpt-oss-120b",
        lacks=("chat_template_kwargs",),
    ),
    Row(
        id="mistral",
        name="Mistral",
        base_url="https://api.mistral.ai/v1",
        variables=("MISTRAL_API_KEY",),
        keys_at="https://console.mistral.ai/api-keys",
        model="mistral-large-latest",
        lacks=_STRICT,
    ),
    Row(
        id="deepseek",
        name="DeepSeek",
        wire="anthropic-compatible",
        base_url="https://api.deepseek.com/anthropic",
        variables=("DEEPSEEK_API_KEY", "DeepseekKey"),
        keys_at="https://platform.deepseek.com/api_keys",
        model="deepseek-reasoner",
        lists="/models",
        brief=True,
    ),
    Row(
        id="xai",
        name="xAI",
        base_url="https://api.x.ai/v1",
        variables=("XAI_API_KEY",),
        keys_at="https://console.x.ai",
        model="grok-4.5",
        lacks=("chat_template_kwargs",),
    ),
    Row(
        id="together",
        name="Together AI",
        base_url="https://api.together.xyz/v1",
        variables=("TOGETHER_API_KEY",),
        keys_at="https://api.together.ai/settings/api-keys",
        model="openai/gpt-oss-120b",
    ),
    Row(
        id="fireworks",
        name="Fireworks AI",
        base_url="https://api.fireworks.ai/inference/v1",
        variables=("FIREWORKS_API_KEY",),
        keys_at="https://app.fireworks.ai/settings/users/api-keys",
        model="accounts/fireworks/models/gpt-oss-120b",
        lacks=("chat_template_kwargs",),
        brief=True,
    ),
    Row(
        id="github-models",
        name="GitHub Models",
        base_url="https://models.github.ai/inference",
        guarded=("GITHUB_TOKEN",),
        keys_at="https://github.com/settings/personal-access-tokens",
        model="openai/gpt-4.1",
        headers={"x-github-api-version": "2022-11-28"},
        lacks=("chat_template_kwargs",),
        lists="/catalog/models",
        note="A personal access token with the permission “models” is its key.",
    ),
    _COPILOT,
    replace(
        _COPILOT,
        id="copilot-responses",
        name="GitHub Copilot (responses)",
        wire="openai-responses",
        model="",
        path="/responses",
        lacks=(),
    ),
    _AZURE,
    _AZURE_CHAT,
    replace(
        _AZURE_CHAT,
        id="azure-deployment",
        name="Azure OpenAI (older address with api-version)",
        base_url="https://{resource}.openai.azure.com/openai/deployments/{deployment}?api-version=2024-10-21",
        lists="",
        note="The deployment stands in the address; the model is its name once more.",
    ),
    Row(
        id="azure-claude",
        name="Azure (Claude)",
        wire="anthropic-compatible",
        base_url="https://{resource}.services.ai.azure.com/anthropic",
        variables=("ANTHROPIC_FOUNDRY_API_KEY",),
        keys_at=_AZURE.keys_at,
        key="x-api-key",
        lists="",
        note=_AZURE.note,
    ),
    replace(
        _BEDROCK,
        id="bedrock-claude",
        name="Amazon Bedrock (Claude)",
        wire="anthropic-compatible",
        model="global.anthropic.claude-sonnet-4-5-20250929-v1:0",
        path="/model/{model}/invoke-with-response-stream",
        headers={"anthropic-version": None},
        extra={"model": None, "stream": None, "anthropic_version": "bedrock-2023-05-31"},
        family="anthropic.",
    ),
    _BEDROCK,
    replace(
        _BEDROCK,
        id="bedrock-openai",
        name="Amazon Bedrock (OpenAI compatible)",
        wire="openai-compatible",
        base_url="https://bedrock-runtime.{region}.amazonaws.com/openai/v1",
        model="openai.gpt-oss-120b-1:0",
        lacks=("chat_template_kwargs",),
        lists=None,
        also_lists=(),
        lists_at=None,
    ),
    _VERTEX,
    replace(
        _VERTEX,
        id="vertex-claude",
        name="Google Vertex AI (Claude)",
        wire="anthropic-compatible",
        model="claude-sonnet-4-5@20250929",
        path="/publishers/anthropic/models/{model}:streamRawPredict",
        headers={"anthropic-version": None},
        extra={"model": None, "anthropic_version": "vertex-2023-10-16"},
        lists="",
        family="",
    ),
    Row(id="ollama", name="Ollama", wire="ollama", base_url="http://127.0.0.1:11434", model="qwen3:8b", local=True),
    Row(id="lmstudio", name="LM Studio", base_url="http://127.0.0.1:1234/v1", local=True),
    Row(id="llamacpp", name="llama.cpp", base_url="http://127.0.0.1:8080/v1", local=True),
    Row(id="vllm", name="vLLM", base_url="http://127.0.0.1:8000/v1", local=True),
    Row(id="openai-compatible", name="Another, OpenAI compatible (chat completions)"),
    Row(id="openai-responses", name="Another, OpenAI responses", wire="openai-responses"),
    Row(id="anthropic-compatible", name="Another, Anthropic compatible", wire="anthropic-compatible"),
    Row(id="embedded", name="Built in (no key, to try things out)", wire="embedded", inside=True),
    Row(
        id="scripted",
        name="Scripted (answers from a file)",
        wire="scripted",
        model="/path/to/script.yaml",
        inside=True,
    ),
    Row(id="plugin", name="Plugin (a package makes it)", wire="plugin", model="name/model"),
)
