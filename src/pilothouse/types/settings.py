"""What a person may set, each described once: kept in `config.json`, shown and changed under `/api/config`."""

from typing import Annotated

from pilothouse.types import limits
from pilothouse.types.authority import DefaultMode
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.embeddings import Embeddings
from pilothouse.types.json import Frozen
from pilothouse.types.large_results import LargeResults
from pilothouse.types.retention import Retention
from pilothouse.types.runs import Resume
from pilothouse.types.selection import OnDemand
from pilothouse.types.setting import Setting
from pilothouse.types.terminals import TerminalSettings
from pilothouse.types.timeouts import ToolTimeouts
from pilothouse.types.web import WebSettings


class Profile(Frozen, frozen=True, kw_only=True):
    """A named bundle of conversation settings; the active one applies to new conversations."""

    id: str
    name: str
    settings: ConversationSettings = ConversationSettings()


class Settings(Frozen, frozen=True, kw_only=True):
    """The settings that are not models; a field here is all that a new one needs to be kept, shown and changed."""

    profiles: tuple[Profile, ...] = ()
    active_profile: str | None = None
    # Whether Enter alone sends a message in the page; otherwise it breaks the line.
    enter_sends: bool = True
    resume_after_restart: Annotated[
        Resume,
        Setting(
            part="Answers that a restart interrupted",
            label="Answers that a restart interrupted",
            choices={"auto": "Go on by themselves", "ask": "Wait until you say so"},
        ),
    ] = "auto"
    default_mode: Annotated[
        DefaultMode,
        Setting(
            tab="permissions",
            part="Default mode",
            label="Default mode",
            note="For conversations in which you chose none, also those that are open. Automatic is Sandboxed in a "
            "folder, where a sandbox keeps commands off the network, and else Ask.",
            choices={
                "automatic": "Automatic",
                "ask": "Ask",
                "sandboxed": "Sandboxed",
                "auto_edit": "Auto-edit",
                "read_only": "Read-only",
            },
        ),
    ] = "automatic"
    tool_timeouts: ToolTimeouts = ToolTimeouts()
    large_results: LargeResults = LargeResults()
    retention: Retention = Retention()
    terminal: TerminalSettings = TerminalSettings()
    embeddings: Embeddings = Embeddings()
    web: WebSettings = WebSettings()
    local_servers: Annotated[
        int | None,
        Setting(
            tab="mcp",
            part="Room for local servers",
            label="Local servers that run at once",
            note="Left empty: by the memory of this machine. One more is not started; it says which could be stopped.",
            what="How many local servers may run at once",
            least=1,
            most=limits.SERVERS_ALLOWED,
        ),
    ] = None
    client_document: Annotated[
        str | None,
        Setting(
            tab="mcp",
            part="Signing in to servers",
            label="Address of your client document",
            note="An https address of your own with what “pilothouse mcp client-document” prints. Where one is taken "
            "for a client id, you sign in with it. Left empty: Pilothouse registers itself.",
            usual="https://…",
            text="document",
        ),
    ] = None
    tools_on_demand: Annotated[
        OnDemand,
        Setting(
            tab="mcp",
            part="Tools on demand",
            label="Tools on demand",
            note="The agent gets the names of tools and looks for what it needs. That saves most of what many tools "
            "cost with every request.",
            choices={"auto": "Where there are many", "always": "Always", "never": "Never"},
        ),
    ] = "auto"
    memory_likeness: Annotated[
        float,
        Setting(
            tab="memory",
            part="Finding memories",
            label="How alike a memory must be",
            note="From 0 to 1. With less, more is found that has less to do with it. Counts where meaning is searched.",
            what="How alike a memory must be",
            unit="share",
            least=0,
            most=1,
        ),
    ] = limits.MEMORY_LIKENESS
    memories_offered: Annotated[
        bool,
        Setting(
            tab="memory",
            part="Finding memories",
            label="Recall by itself",
            note="With each message the agent gets the few memories that may matter to it. Never those that may hold "
            "strangers’ words.",
        ),
    ] = True
    permission_minutes: Annotated[
        int,
        Setting(
            tab="permissions",
            part="Permissions for a while",
            label="Minutes that a permission for a while lasts",
            note="What a question offers beside “for this task” and “in this conversation”.",
            what="How many minutes a permission for a while lasts",
            least=1,
            most=limits.GRANT_LONGEST // 60,
        ),
    ] = limits.GRANT_MINUTES
    runs_at_once: Annotated[
        int,
        Setting(
            part="Limits",
            label="Answers at once",
            note="Conversations beyond that wait in line.",
            what="How many answers are got at once",
            least=1,
            most=limits.RUNS_AT_ONCE_MOST,
        ),
    ] = limits.RUNS_AT_ONCE
    most_waiting: Annotated[
        int,
        Setting(
            part="Limits",
            label="Messages that may wait",
            note="One more is refused.",
            what="How many messages may wait",
            least=1,
            most=limits.WAITING_MOST,
        ),
    ] = limits.WAITING_EVERYWHERE
    longest_answer: Annotated[
        int,
        Setting(
            part="Limits",
            label="Characters of an answer",
            note="An answer that does not end by itself is ended there.",
            what="How many characters the longest answer has",
            least=limits.ANSWER_CHARS_FEWEST,
            most=limits.ANSWER_CHARS_MOST,
        ),
    ] = limits.ANSWER_CHARS
    most_added_iterations: Annotated[
        int,
        Setting(
            part="Limits",
            label="Rounds that an agent may add to its run",
            note="With 0 you are asked instead.",
            what="How many rounds may be added",
            least=0,
            most=limits.ITERATIONS_ADDED_MOST,
        ),
    ] = limits.ITERATIONS_ADDED
    budget_per_run: Annotated[
        float,
        Setting(
            tab="usage",
            part="Budgets",
            unit="dollars",
            usual="No budget",
            label="Dollars for one message",
            note="You are asked before a request that would cost more. 0 for none. Counts where a price is known.",
            what="The budget for one message, in dollars,",
            least=0,
            most=limits.BUDGET_DOLLARS_MOST,
        ),
    ] = 0.0
    budget_per_day: Annotated[
        float,
        Setting(
            tab="usage",
            part="Budgets",
            unit="dollars",
            usual="No budget",
            label="Dollars for one day",
            note="Over all conversations. You are asked before a request that would cost more. 0 for none.",
            what="The budget for one day, in dollars,",
            least=0,
            most=limits.BUDGET_DOLLARS_MOST,
        ),
    ] = 0.0
    run_token_budget: Annotated[
        int,
        Setting(
            tab="usage",
            part="Budgets",
            label="Tokens for one message",
            note="You are asked before a request that would use more. 0 for none.",
            what="The budget for one message, in tokens,",
            least=0,
            most=limits.RUN_TOKEN_BUDGET_MOST,
        ),
    ] = limits.RUN_TOKEN_BUDGET
    drain_seconds: Annotated[
        float,
        Setting(
            part="Limits",
            label="Seconds that answers may go on when the server stops",
            note="What is not ready then goes on after the next start.",
            what="How many seconds answers may go on when a server stops",
            least=0,
            most=limits.DRAIN_MOST,
        ),
    ] = 0.0
