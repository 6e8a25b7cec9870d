"""Where people get the keys of well-known services: the pages that those services have for it."""

from __future__ import annotations

import re

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_PAGES = {
    "github": "https://github.com/settings/tokens",
    "gitlab": "https://gitlab.com/-/user_settings/personal_access_tokens",
    "codeberg": "https://codeberg.org/user/settings/applications",
    "bitbucket": "https://bitbucket.org/account/settings/app-passwords/",
    "openai": "https://platform.openai.com/api-keys",
    "anthropic": "https://console.anthropic.com/settings/keys",
    "gemini": "https://aistudio.google.com/apikey",
    "mistral": "https://console.mistral.ai/api-keys",
    "groq": "https://console.groq.com/keys",
    "openrouter": "https://openrouter.ai/settings/keys",
    "deepseek": "https://platform.deepseek.com/api_keys",
    "perplexity": "https://www.perplexity.ai/settings/api",
    "huggingface": "https://huggingface.co/settings/tokens",
    "hf": "https://huggingface.co/settings/tokens",
    "replicate": "https://replicate.com/account/api-tokens",
    "elevenlabs": "https://elevenlabs.io/app/settings/api-keys",
    "brave": "https://api-dashboard.search.brave.com/app/keys",
    "tavily": "https://app.tavily.com/home",
    "exa": "https://dashboard.exa.ai/api-keys",
    "firecrawl": "https://www.firecrawl.dev/app/api-keys",
    "serpapi": "https://serpapi.com/manage-api-key",
    "notion": "https://www.notion.so/profile/integrations",
    "linear": "https://linear.app/settings/account/security",
    "figma": "https://www.figma.com/settings",
    "airtable": "https://airtable.com/create/tokens",
    "todoist": "https://app.todoist.com/app/settings/integrations/developer",
    "slack": "https://api.slack.com/apps",
    "discord": "https://discord.com/developers/applications",
    "stripe": "https://dashboard.stripe.com/apikeys",
    "sentry": "https://sentry.io/settings/account/api/auth-tokens/",
    "supabase": "https://supabase.com/dashboard/account/tokens",
    "vercel": "https://vercel.com/account/tokens",
    "cloudflare": "https://dash.cloudflare.com/profile/api-tokens",
    "digitalocean": "https://cloud.digitalocean.com/account/api/tokens",
    "atlassian": "https://id.atlassian.com/manage-profile/security/api-tokens",
    "jira": "https://id.atlassian.com/manage-profile/security/api-tokens",
    "confluence": "https://id.atlassian.com/manage-profile/security/api-tokens",
    "postman": "https://go.postman.co/settings/me/api-keys",
    "openweathermap": "https://home.openweathermap.org/api_keys",
    "alphavantage": "https://www.alphavantage.co/support/#api-key",
}


def key_page(name: str) -> str:
    """Return the page of the service that a variable is named after; empty where it is not known."""
    words = [word.lower() for word in _WORD.split(name) if word]
    return next((_PAGES[word] for word in words if word in _PAGES), "")
