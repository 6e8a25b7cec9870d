"""What a person reads instead of the name of a variable, a header or a slot: “GitHub personal access token”."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pilothouse.types import limits

AUTHORIZATION = "Authorization"
_TOKEN = "Token"  # noqa: S105
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
# Names that are not written with one capital letter.
_NAMES = {
    name.lower(): name
    for name in (
        "AgentQL", "AssemblyAI", "BigQuery", "CircleCI", "ClickHouse", "ClickUp", "DeepL", "DeepSeek", "DigitalOcean",
        "DynamoDB", "ElevenLabs", "EverArt", "GitBook", "GitHub", "GitLab", "GraphQL", "HubSpot", "LangSmith",
        "LinkedIn", "MariaDB", "MongoDB", "MotherDuck", "MySQL", "OAuth", "OpenAI", "OpenRouter", "OpenWeather",
        "OpenWeatherMap", "PagerDuty", "PayPal", "PostgreSQL", "SendGrid", "SerpApi", "SQLite", "TikTok", "WhatsApp",
        "WordPress", "xAI", "YouTube",
    )
}  # fmt: skip
_SPELLED = {"apikey": "API key", "huggingface": "Hugging Face", "newrelic": "New Relic", "passwd": "password"}
# Said letter by letter.
_LETTERS = frozenset(
    re.findall(
        r"\w+",
        "ai api aws cdn ci cli crm db dsn ec2 gcp gcs hf html http https iam ibm id imap ip json jwt kms llm mcp "
        "npm otp pat pdf r2 rds s3 sap sdk smtp sns sql sqs ssh ssl sso tls ui uri url xml",
    )
)
# Words that are no name.
_PLAIN = frozenset(
    re.findall(
        r"\w+",
        "access account admin app application auth base bearer bot client code connection consumer credential "
        "credentials customer database default dev domain email endpoint environment file folder host instance "
        "key keys live login master name org organization owner pass passphrase password path personal port "
        "private prod production project public read refresh region root secret server service session signing "
        "site string subscription team tenant test token tokens user username version webhook workspace write",
    )
)
# What is found in an address by its shape has the name of its place there.
_SLOTS = {"path": "Secret part of the address", "user": "User in the address", "authorization": _TOKEN}


def label_of(key_id: str) -> str:
    """Return what a person calls the key of this id: that of “env:OPENAI_API_KEY” is an “OpenAI API key”."""
    kind, _, name = key_id.partition(":")
    if kind == "header" and name.lower() == AUTHORIZATION.lower():
        return _TOKEN
    if kind == "slot" and name.lower() in _SLOTS:
        return _SLOTS[name.lower()]
    words = [word.lower() for word in _SEAM.split(name) if word]
    if kind == "header" and words[:1] == ["x"] and len(words) > 1:
        words = words[1:]
    spelled = [_spelled(word) for word in words] or [_TOKEN]
    first = spelled[0] if spelled[0] in _NAMES.values() else spelled[0][:1].upper() + spelled[0][1:]
    return " ".join((first, *spelled[1:]))[: limits.KEY_LABEL_CHARS]


def labels_of(key_ids: Iterable[str]) -> str:
    """Return what a person calls these keys, within a sentence: “Slack bot token and Slack team ID”."""
    told = list(dict.fromkeys(spoken(each) for each in key_ids))
    return f"{', '.join(told[:-1])} and {told[-1]}" if len(told) > 1 else told[0]


def spoken(key_id: str) -> str:
    """Return what a person calls a key, in the middle of a sentence: only a name or letters begin large."""
    label = label_of(key_id)
    return label[:1].lower() + label[1:] if label.split()[0].lower() in _PLAIN else label


def _spelled(word: str) -> str:
    if word in _LETTERS:
        return word.upper()
    return _NAMES.get(word) or _SPELLED.get(word) or (word if word in _PLAIN else word.capitalize())
