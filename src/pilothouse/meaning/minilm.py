"""all-MiniLM-L6-v2, computed with numpy. Runs in the helper process only."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from pilothouse.types import limits

Floats: TypeAlias = NDArray[np.float32]

_LAYERS, _HEADS = 6, 12
_TINY = np.float32(1e-12)
# The error function, by Abramowitz and Stegun's formula 7.1.26: right to seven digits, which is all a float has.
_ERF = tuple(map(np.float32, (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)))
_ERF_T = np.float32(0.3275911)
_HALF_ROOT = np.float32(0.7071067811865476)
# Rows that the activation takes at once, so that what it computes with stays in the processor's own memory.
_ROWS = 64


class _Tensor(msgspec.Struct, frozen=True):
    """One entry of the head of a safetensors file."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


class _Layer(msgspec.Struct, frozen=True):
    """The weights of one layer; those that are applied to the same rows are one matrix."""

    heads: tuple[Floats, Floats]
    output: tuple[Floats, Floats]
    after_heads: tuple[Floats, Floats]
    up: tuple[Floats, Floats]
    down: tuple[Floats, Floats]
    after_all: tuple[Floats, Floats]


class MiniLM:
    """The model. Texts of all lengths are computed together without padding: only attention looks at each alone."""

    dimension = 384

    def __init__(self, folder: Path) -> None:
        weights = _weights(folder / "model.safetensors")
        self._words = weights["embeddings.word_embeddings.weight"]
        positions = weights["embeddings.position_embeddings.weight"][: limits.MEANING_TOKENS]
        self._positions: Floats = positions + weights["embeddings.token_type_embeddings.weight"][0]
        self._norm = _pair(weights, "embeddings.LayerNorm")
        self._layers = [_layer(weights, f"encoder.layer.{number}.") for number in range(_LAYERS)]
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(limits.MEANING_TOKENS)
        self._tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return a vector of length 1 for each text."""
        tokens = [encoded.ids for encoded in self._tokenizer.encode_batch(list(texts))]
        made = np.empty((len(tokens), self.dimension), np.float32)
        # Short ones together: what is computed at once is bounded by the tokens in it.
        waiting: list[int] = []
        for number in sorted(range(len(tokens)), key=lambda each: len(tokens[each])):
            if waiting and sum(len(tokens[each]) for each in waiting) + len(tokens[number]) > 4 * limits.MEANING_TOKENS:
                made[waiting] = self._together([tokens[each] for each in waiting])
                waiting = []
            waiting.append(number)
        if waiting:
            made[waiting] = self._together([tokens[each] for each in waiting])
        return made

    def _together(self, tokens: Sequence[Sequence[int]]) -> Floats:
        ends = np.cumsum([len(each) for each in tokens])
        spans = [(int(end) - len(each), int(end)) for each, end in zip(tokens, ends, strict=True)]
        rows: Floats = self._words[np.concatenate([np.asarray(each, np.intp) for each in tokens])]
        for begin, end in spans:
            rows[begin:end] += self._positions[: end - begin]
        rows = _normed(rows, self._norm)
        for layer in self._layers:
            seen = _linear(_attention(_linear(rows, layer.heads), spans), layer.output)
            rows = _normed(rows + seen, layer.after_heads)
            thought = _linear(_gelu(_linear(rows, layer.up)), layer.down)
            rows = _normed(rows + thought, layer.after_all)
        means = np.stack([rows[begin:end].mean(axis=0) for begin, end in spans])
        length = np.sqrt((means * means).sum(axis=1, keepdims=True))
        return np.asarray(means / np.maximum(length, _TINY), np.float32)


def _attention(heads: Floats, spans: Sequence[tuple[int, int]]) -> Floats:
    width = heads.shape[1] // 3
    each = width // _HEADS
    scale = np.float32(each**-0.5)
    seen = np.empty((len(heads), width), np.float32)
    for begin, end in spans:
        query, key, value = heads[begin:end].reshape(end - begin, 3, _HEADS, each).transpose(1, 2, 0, 3)
        weight = (query * scale) @ key.transpose(0, 2, 1)
        weight -= weight.max(axis=-1, keepdims=True)
        np.exp(weight, out=weight)
        weight /= weight.sum(axis=-1, keepdims=True)
        seen[begin:end] = (weight @ value).transpose(1, 0, 2).reshape(end - begin, width)
    return seen


def _linear(rows: Floats, pair: tuple[Floats, Floats]) -> Floats:
    made: Floats = rows @ pair[0].T
    made += pair[1]
    return made


def _normed(rows: Floats, pair: tuple[Floats, Floats]) -> Floats:
    rows -= rows.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.einsum("ij,ij->i", rows, rows)[:, None] / np.float32(rows.shape[1]) + _TINY)
    rows /= spread
    rows *= pair[0]
    rows += pair[1]
    return rows


def _gelu(rows: Floats) -> Floats:
    for begin in range(0, len(rows), _ROWS):
        part = rows[begin : begin + _ROWS]
        size = np.abs(part)
        size *= _HALF_ROOT
        near = 1 / (1 + _ERF_T * size)
        sum_ = np.full_like(near, _ERF[0])
        for factor in _ERF[1:]:
            sum_ *= near
            sum_ += factor
        sum_ *= near
        np.multiply(size, size, out=size)
        np.negative(size, out=size)
        np.exp(size, out=size)
        sum_ *= size
        # Half of 1 + erf: for what is negative the other end of the same curve.
        sum_ *= np.float32(0.5)
        np.subtract(1, sum_, out=sum_, where=part >= 0)
        part *= sum_
    return rows


def _layer(weights: Mapping[str, Floats], name: str) -> _Layer:
    heads = [_pair(weights, f"{name}attention.self.{part}") for part in ("query", "key", "value")]
    return _Layer(
        heads=(np.concatenate([weight for weight, _ in heads]), np.concatenate([bias for _, bias in heads])),
        output=_pair(weights, f"{name}attention.output.dense"),
        after_heads=_pair(weights, f"{name}attention.output.LayerNorm"),
        up=_pair(weights, f"{name}intermediate.dense"),
        down=_pair(weights, f"{name}output.dense"),
        after_all=_pair(weights, f"{name}output.LayerNorm"),
    )


def _pair(weights: Mapping[str, Floats], name: str) -> tuple[Floats, Floats]:
    return weights[f"{name}.weight"], weights[f"{name}.bias"]


def _weights(path: Path) -> dict[str, Floats]:
    """Return all matrices of a safetensors file; nothing is read of it before it is computed with."""
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        head: dict[str, Any] = msgspec.json.decode(file.read(size))
    raw = np.memmap(path, np.uint8, "r", offset=8 + size)
    found: dict[str, Floats] = {}
    for name, entry in head.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        about = msgspec.convert(entry, _Tensor)
        begin, end = about.data_offsets
        found[name] = np.asarray(raw[begin:end]).view(np.float32).reshape(about.shape)
    return found
