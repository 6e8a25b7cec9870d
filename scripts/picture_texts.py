"""What the model says in the pictures of the documentation."""

from __future__ import annotations

from typing import Any

TITLES = (
    "Reading the tide tables",
    "A log in SQLite",
    "Which sail for twenty knots",
    "Names for the new dinghy",
    "Harbour fees compared",
)
# Made up; a key in the environment is one of the things that the page offers to use.
KEYS = {"ANTHROPIC_API_KEY": "made-up-for-a-picture", "DeepseekKey": "made-up-for-a-picture"}
SHORT = "high water follows the moon by about fifty minutes a day, and every harbour adds its own delay."

MODELS: dict[str, Any] = {
    "deepseek-reasoner": {
        "name": "DeepSeek Reasoner",
        "provider": "anthropic-compatible",
        "baseUrl": "https://api.deepseek.com/anthropic",
        "apiKeySource": "env:DeepseekKey",
        "model": "deepseek-reasoner",
        "contextWindow": 128000,
        "supportsThinking": True,
    },
    "claude-sonnet": {
        "name": "Claude Sonnet",
        "provider": "anthropic-compatible",
        "baseUrl": "https://api.anthropic.com",
        "apiKeySource": "env:ANTHROPIC_API_KEY",
        "model": "claude-sonnet",
        "contextWindow": 200000,
        "supportsThinking": True,
    },
    "qwen": {
        "name": "Qwen on this machine",
        "provider": "ollama",
        "baseUrl": "http://127.0.0.1:11434",
        "apiKeySource": "",
        "model": "qwen3:8b",
        "contextWindow": 32000,
        "supportsThinking": False,
    },
}

KNOTS_QUESTION = "How long until we reach the harbour? It is 18 nautical miles away and we make 6 knots against 1.5."
KNOTS: tuple[Any, ...] = (
    [
        {
            "thinking": "A knot is a nautical mile an hour. The current of 1.5 knots comes from ahead, so over "
            "ground it is 6 − 1.5 = 4.5 knots. **18 / 4.5 = 4 hours.** A small function would let them try "
            "other numbers.",
            "pieces": 12,
            "every": 0.03,
        },
        {"call": "think", "arguments": {"thoughts": "Give the answer first, then a function to reuse."}},
    ],
    [
        {"wait": 0.4},
        {
            "text": """**Four hours.** The current runs against you, so over ground you make 6 − 1.5 = **4.5 knots**.

```python
def hours_to(miles: float, speed: float, current: float = 0.0) -> float:
    \"\"\"Return the hours to a place; a current from ahead is negative.\"\"\"
    over_ground = speed + current
    if over_ground <= 0:
        raise ValueError("the current is stronger than the boat")
    return miles / over_ground

print(hours_to(18, 6, -1.5))  # 4.0
```

| speed | current | over ground | time |
|------:|--------:|------------:|-----:|
| 6 kn | −1.5 kn | 4.5 kn | 4 h |
| 6 kn | 0 kn | 6 kn | 3 h |
| 6 kn | +1.5 kn | 7.5 kn | 2 h 24 min |

If you can wait for the tide to turn, you save *more than an hour and a half*.
""",
            "pieces": 14,
            "every": 0.012,
        },
        {"usage": {"input": 1184, "output": 296, "cache_read": 1024}},
    ],
)

SLOW_QUESTION = "How do I come into an unknown harbour at night?"
SLOW: list[dict[str, Any]] = [
    {"thinking": "Safety first: lights, depth, a way out.", "pieces": 8, "every": 0.05},
    {
        "text": """Slowly, and with a way back out. In this order:

1. **Read the chart again** before you can see anything: depths, lights and their characters, what lies outside.
2. **Name the first light aloud** and check it against its period. A light that does not match is another light.
3. **Keep the lead line or the sounder going**, and turn around when the depth says otherwise than the chart.
4. **Have lines and fenders ready on both sides**; you do not know yet where there will be room.
5. **Stay outside if you doubt.** A harbour that you do not enter has never sunk anyone.
""",
        "pieces": 6,
        "every": 0.04,
    },
]

LOOP: tuple[Any, ...] = (
    [
        {"text": "I will look at the barometer.", "pieces": 5, "every": 0.01},
        {"call": "think", "arguments": {"thoughts": "Has the barometer fallen yet?"}},
    ],
    *([{"call": "think", "arguments": {"thoughts": "Has the barometer fallen yet?"}}] for _ in range(3)),
    "It stands still.",
)

PASSAGE_QUESTIONS = (
    "We sail from Bergen to Lerwick on Saturday, two of us on the Havsule. What course?",
    "Where could we run for shelter on the way?",
)
PASSAGE = (
    "Steer 275° from Marstein light: 180 miles, about 30 hours at 6 knots. Leave with the ebb at 05:40.",
    "There is none in the middle. For the first third turn back to Fedje; in the last third make for Out Skerries.",
)
SUMMED_UP = (
    "Bergen to Lerwick on Saturday, two people on the **Havsule**. Course 275° from Marstein light, 180 miles, about "
    "30 hours at 6 knots, leaving with the ebb at 05:40. Shelter: Fedje in the first third, Out Skerries in the last, "
    "none between. Open: the weather, which nobody has looked up."
)
