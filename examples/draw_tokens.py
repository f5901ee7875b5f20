"""Draws one sample of a run as an SVG picture, token by token, as the trainer gets it.

    python examples/draw_tokens.py runs/NAME EPISODE --tokenizer CHECKPOINT --output picture.svg

A box is a token. Grey boxes are prompt (loss mask 0), orange boxes were generated here (loss mask 1): the darker, the
less likely the token was. Control tokens have a frame. The small number is the position of a line's first token.
"""

from __future__ import annotations

import argparse
import math
from html import escape
from pathlib import Path
from typing import Any

from ray_gym.load import load

COLUMNS, CHARACTER, LINE = 112, 7.3, 21
LEFT = 44


def draw(sample: dict[str, Any], tokenizer: Any) -> str:
    """Returns a sample (a row of the table of samples) as an SVG document."""
    special = set(tokenizer.all_special_ids)
    x, y = 0, 0
    parts: list[str] = []
    lines = zip(sample["token_ids"], sample["loss_mask"], sample["logprobs"], strict=True)
    for position, (token, mask, logprob) in enumerate(lines):
        text = tokenizer.decode([token]).replace("\n", "↵")
        if x + len(text) > COLUMNS:
            x, y = 0, y + 1
        if x == 0:
            parts.append(label(4, y, str(position), "#888"))
        parts.append(box(x, y, text, fill(mask, logprob), framed=token in special))
        x += len(text)
        if token in special and text == "<|im_end|>":  # each message begins a line
            x, y = 0, y + 1
    width, height = LEFT + COLUMNS * CHARACTER + 8, (y + 2) * LINE
    style = "font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 12px; white-space: pre"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" style="{style}">'
    background = f'<rect width="{width:.0f}" height="{height}" fill="white"/>'
    return "\n".join([head, background, *parts, "</svg>\n"])


def fill(mask: int, logprob: float) -> str:
    """Returns the colour of a token's box: grey for mask 0, else orange, the darker the less likely the token was."""
    if not mask:
        return "#eeeeee"
    surprise = 1 - math.exp(logprob)  # 0 for a token that was certain
    return f"rgb(255, {200 - int(90 * surprise)}, {130 - int(110 * surprise)})"


def box(x: int, y: int, text: str, colour: str, framed: bool) -> str:
    left, top = LEFT + x * CHARACTER, y * LINE + 4
    frame = ' stroke="#555" stroke-width="0.8"' if framed else ""
    shape = f'<rect x="{left + 0.6:.1f}" y="{top}" width="{len(text) * CHARACTER - 1.2:.1f}" height="{LINE - 4}" rx="2"'
    length = f'textLength="{len(text) * CHARACTER - 1.4:.1f}" lengthAdjust="spacingAndGlyphs"'
    words = f'<text x="{left + 0.7:.1f}" y="{top + 13}" xml:space="preserve" {length}>{escape(text)}</text>'
    return f'{shape} fill="{colour}"{frame}/>{words}'


def label(x: int, y: int, text: str, colour: str) -> str:
    return f'<text x="{x}" y="{y * LINE + 17}" fill="{colour}" font-size="9">{text}</text>'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="directory of the run")
    parser.add_argument("episode", help="id of an episode, or the beginning of one")
    parser.add_argument("--participant", default="policy")
    parser.add_argument("--tokenizer", required=True, help="folder of a checkpoint, or its name on a model hub")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    from transformers import AutoTokenizer

    rows = load(options.run).samples.to_pylist()
    found = [
        row
        for row in rows
        if row["episode_id"].startswith(options.episode) and row["participant"] == options.participant
    ]
    if not found:
        parser.exit(2, f"no sample of {options.participant} in an episode that begins with {options.episode!r}\n")
    options.output.write_text(draw(found[0], AutoTokenizer.from_pretrained(options.tokenizer)))


if __name__ == "__main__":
    main()
