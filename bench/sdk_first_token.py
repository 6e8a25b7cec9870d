"""The least that streams an answer with the official SDK: `sdk_first_token.py URL MODEL MESSAGE`."""

import sys

from openai import OpenAI

client = OpenAI(base_url=sys.argv[1], api_key="none")
stream = client.chat.completions.create(
    model=sys.argv[2], messages=[{"role": "user", "content": sys.argv[3]}], stream=True
)
for chunk in stream:
    if chunk.choices and chunk.choices[0].delta.content:
        print(chunk.choices[0].delta.content, end="", flush=True)
