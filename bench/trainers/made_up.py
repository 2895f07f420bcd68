#!/usr/bin/env python3
"""Writes a SQuAD file whose features have given lengths, so that two programs can train on the same amount of padding.

    bench/trainers/made_up.py FILE --length 128 [--questions 2000] [--seed 1]

One feature a question. A feature's tokens are exp(N(ln 160, 0.37)) clipped to 40..384, scaled to LENGTH/384: the mean is 0.445 of LENGTH, as in SQuAD.
Every word is one word piece of the vocabulary.
"""

import argparse
import json
import math
import pathlib
import random

VOCABULARY = pathlib.Path(__file__).resolve().parents[2] / "data" / "bert-base-uncased-vocab.txt"


def write_squad(path, length, questions=2000, seed=1):
    """Returns the mean number of tokens of a feature."""
    draw = random.Random(seed)
    words = [word for word in VOCABULARY.read_text(encoding="utf-8").split("\n") if word.isascii() and word.isalpha() and len(word) > 2]
    paragraphs, total = [], 0
    for number in range(questions):
        tokens = round(min(384, max(40, math.exp(draw.gauss(math.log(160), 0.37)))) * length / 384)
        total += tokens
        question = max(2, tokens // 12)
        context = [draw.choice(words) for _ in range(tokens - 3 - question)]
        # Not the last word, whose answers run_qa places oddly.
        answer = draw.randrange(len(context) - 1)
        start = sum(len(word) + 1 for word in context[:answer])
        paragraphs.append({"context": " ".join(context), "qas": [{
            "id": str(number), "question": " ".join(draw.choice(words) for _ in range(question)),
            "answers": [{"text": context[answer], "answer_start": start}]}]})
    pathlib.Path(path).write_text(json.dumps({"version": "1.1", "data": [{"title": "made up", "paragraphs": paragraphs}]}))
    return total / questions


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--questions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    write_squad(options.file, options.length, options.questions, options.seed)
