"""What servers lack, from their own words, and what a person calls it."""

from __future__ import annotations

import pytest

from pilothouse.mcp.client.key_labels import label_of, labels_of
from pilothouse.mcp.client.missing_keys import lacking, lacking_header, lacking_in_call

STRIPE = (
    "Error: Stripe API key not provided. Please either pass it as an argument --api-key=$KEY "
    "or set the STRIPE_SECRET_KEY environment variable."
)
BRAVE = (
    "Error: A Brave API key is required via --brave-api-key, BRAVE_API_KEY, --brave-api-key-file, "
    "or BRAVE_API_KEY_FILE. You can get one at https://brave.com/search/api/."
)
HUBSPOT = (
    "Error: HubSpot access token is required. Set PRIVATE_APP_ACCESS_TOKEN in your environment variables and retry."
)
# As servers of others wrote it when they were started without their keys.
WORDS = [
    ("Error: BRAVE_API_KEY environment variable is required", "Brave API key"),
    (BRAVE, "Brave API key"),
    ("Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables", "Slack bot token and Slack team ID"),
    ("GITLAB_PERSONAL_ACCESS_TOKEN environment variable is not set", "GitLab personal access token"),
    ("GOOGLE_MAPS_API_KEY environment variable is not set", "Google Maps API key"),
    ("EVERART_API_KEY environment variable is not set", "EverArt API key"),
    ("ValueError: ELEVENLABS_API_KEY environment variable is required", "ElevenLabs API key"),
    ("ValueError: OBSIDIAN_API_KEY environment variable required. Working directory: /srv", "Obsidian API key"),
    (STRIPE, "Stripe secret key"),
    (
        "Please provide a personal access token (PAT) with the --access-token flag or set the SUPABASE_ACCESS_TOKEN "
        "environment variable",
        "Supabase access token",
    ),
    (
        "Error: No access token was provided.\nRun `sentry-mcp auth login` interactively first, or pass "
        "`--access-token` / `SENTRY_ACCESS_TOKEN`.",
        "Sentry access token",
    ),
    (f"            throw new Error('{HUBSPOT}');\n\n{HUBSPOT}", "private app access token"),
    (
        "Error: airtable-mcp-server: No API key provided. Set it in the `AIRTABLE_API_KEY` environment variable",
        "Airtable API key",
    ),
    ("LINEAR_API_KEY environment variable is required", "Linear API key"),
    ("\x1b[31mERROR\x1b[39m APIFY_TOKEN is required but not set in the environment variables", "Apify token"),
    ("Error: Either FIGMA_API_KEY or FIGMA_OAUTH_TOKEN is required (via CLI argument or .env file)", "Figma API key"),
    (
        "Missing required environment variables: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY",
        "AWS access key ID and AWS secret access key",
    ),
    (
        "❌ Missing environment variables:\n  - JIRA_HOST\n  - JIRA_API_TOKEN: of your account\nUsage: x",
        "Jira host and Jira API token",
    ),
    ("KeyError: 'OPENAI_API_KEY'", "OpenAI API key"),
    ('[\n {\n "path": [\n "NOTION_TOKEN"\n ],\n "message": "Required"\n }\n]', "Notion token"),
    (
        "ValidationError: 1 validation error for Settings\nopenai_api_key\n  Field required [type=missing, input={}]",
        "OpenAI API key",
    ),
]  # fmt: skip
# What programs say that lack no key.
HONEST = [
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x', required by /srv/a.js",
    "LOG_LEVEL is not set",
    "npm warn config NODE_OPTIONS is required",
    "DEBUG_MODE not set, using default",
    "CACHE_FOLDER is not set, falling back to /tmp",
    "No FIRECRAWL_API_KEY or FIRECRAWL_API_URL set — running in keyless mode.",
    "ETIMEDOUT: the server was not found",
    "Usage: server [options] [folder]",
    "Please provide a database URL as a command-line argument",
    "error: required option '--db <path>' not specified",
]


@pytest.mark.case("AUT-10")
@pytest.mark.parametrize(("said", "labels"), WORDS)
def test_a_person_reads_what_a_server_lacks_and_no_name_of_a_variable(said: str, labels: str) -> None:
    lacks = lacking(said.splitlines())
    told = labels_of(each.id for each in lacks)
    assert told == labels
    assert "_" not in told
    assert all(each.about and "\x1b" not in each.about for each in lacks)


@pytest.mark.parametrize(
    "name", ["PILOTHOUSE_TOKEN", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "GIT_SSH_COMMAND"]
)
def test_a_server_cannot_ask_for_what_steers_programs_or_is_pilothouses_own(name: str) -> None:
    said = f"{name} environment variable is required"
    assert lacking([said, f"KeyError: '{name}'", "Missing environment variables:", f"- {name}"]) == ()
    assert lacking_in_call("x", said) == ()
    assert [each.id for each in lacking(["LD_API_KEY is required"])] == ["env:LD_API_KEY"], "the twin"


@pytest.mark.parametrize("said", HONEST)
def test_what_only_sounds_like_it_is_no_key(said: str) -> None:
    assert lacking(said.splitlines()) == ()


def test_the_line_that_says_so_is_kept_and_not_the_code_around_it() -> None:
    [lack] = lacking([f"      throw new Error('{HUBSPOT}');", "", HUBSPOT, "    at new Client (client.js:12:19)"])
    assert lack.about == HUBSPOT


def test_a_server_that_goes_on_without_a_key_says_so_too() -> None:
    said = "[tavily-mcp] no TAVILY_API_KEY set; running in keyless mode."
    assert lacking([said]) == ()
    assert [each.id for each in lacking([said], optional=True)] == ["env:TAVILY_API_KEY"]


def test_a_call_says_what_is_missing_and_some_servers_only_that_they_were_refused() -> None:
    assert [each.id for each in lacking_in_call("x", "Error: OPENAI_API_KEY is not set")] == ["env:OPENAI_API_KEY"]
    refused = "Authentication Failed: Requires authentication"
    [github] = lacking_in_call("@modelcontextprotocol/server-github@2025.4.8", refused)
    assert (github.id, github.about) == ("env:GITHUB_PERSONAL_ACCESS_TOKEN", refused)
    assert lacking_in_call("@modelcontextprotocol/server-github", "Not Found: no such repository") == ()
    assert lacking_in_call("another", refused) == ()


@pytest.mark.parametrize(
    ("said", "header"),
    [
        ("Authentication failed. It says: “Missing X-API-Key header”.", "X-API-Key"),
        ("Authentication failed. It says: “Provide your api-key”.", "api-key"),
        ("Authentication failed. Check your API key.", "Authorization"),
        ("Authentication failed. It says: “Unauthorized”.", "Authorization"),
    ],
)
def test_a_refusal_may_name_the_header(said: str, header: str) -> None:
    assert lacking_header(said) == header


@pytest.mark.parametrize(
    ("key", "label"),
    [
        ("env:GITHUB_PERSONAL_ACCESS_TOKEN", "GitHub personal access token"),
        ("env:OPENAI_API_KEY", "OpenAI API key"),
        ("env:XAI_API_KEY", "xAI API key"),
        ("env:DATABASE_URL", "Database URL"),
        ("env:TOKEN", "Token"),
        ("header:X-Api-Key", "API key"),
        ("header:Authorization", "Token"),
        ("header:authorization", "Token"),
        ("slot:apiKey", "API key"),
        ("slot:path", "Secret part of the address"),
        (f"env:{'A' * 500}", "A" + "a" * 59),
    ],
)
def test_every_key_has_a_label(key: str, label: str) -> None:
    assert label_of(key) == label
