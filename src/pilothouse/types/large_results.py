"""What a person says about results that are too large to enter a conversation whole."""

from typing import Annotated, Literal

from msgspec import field

from pilothouse.types import limits
from pilothouse.types.json import Frozen
from pilothouse.types.setting import Setting

_PART = "Large results"
Entering = Literal["automatic", "summary", "excerpt", "whole"]


class LargeResults(Frozen, frozen=True):
    """How results of tools enter a conversation; the whole of each is kept and can be read again in any case."""

    enter: Annotated[
        Entering,
        Setting(
            part=_PART,
            label="Large results",
            note="What the model gets of them. Automatic: a summary by a model that is not on this machine and has a "
            "window of 32,000 tokens or more, else the beginning and the end. The whole: up to a quarter of it.",
            choices={
                "automatic": "Automatic",
                "summary": "A summary",
                "excerpt": "Beginning and end",
                "whole": "The whole",
            },
        ),
    ] = "automatic"
    above: Annotated[
        int,
        Setting(
            part=_PART,
            label="Tokens from which a server's result is large",
            note="As estimated by its length.",
            what="From how many tokens a result is large",
            least=limits.LARGE_LEAST,
            most=limits.LARGE_MOST,
        ),
    ] = limits.SUMMARISED_TOKENS
    longest_summary: Annotated[
        int,
        Setting(
            part=_PART,
            label="Tokens of a summary",
            what="How many tokens a summary has",
            least=limits.SUMMARY_LEAST,
            most=limits.SUMMARY_MOST,
        ),
    ] = limits.SUMMARY_TOKENS
    most_read: Annotated[
        int,
        Setting(
            part=_PART,
            label="Tokens that are read for a summary",
            note="Of a longer result the middle is left out.",
            what="How many tokens are read for a summary",
            least=limits.LARGE_LEAST,
            most=limits.LARGE_MOST,
        ),
    ] = limits.SUMMARY_INPUT_TOKENS
    models: Annotated[
        str,
        Setting(
            part=_PART,
            label="Models for summaries",
            note="Their ids, with commas between them; the first that answers. Left empty, the conversation's own.",
        ),
    ] = ""
    # By a server's name, instead of `above`; 0 for results that always enter whole.
    servers: dict[str, int] = field(default_factory=dict)

    @property
    def named(self) -> tuple[str, ...]:
        """Return the ids of the models that are named."""
        return tuple(name for part in self.models.split(",") if (name := part.strip()))
