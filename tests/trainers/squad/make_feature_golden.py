#!/usr/bin/env python3
"""Writes golden/tokens.jsonl, golden/features.json and golden/code_points.json from Hugging Face's packages.

    python3 -m venv V && V/bin/pip install tokenizers transformers
    V/bin/python tests/trainers/squad/make_feature_golden.py

tokens.jsonl: texts, most of them generated, with the ids and offsets of BertTokenizerFast. features.json: for several settings, how
many features prepare_train_features of run_qa makes of data/squad2-excerpt.json, and the CRC-32 of all their numbers.
code_points.json: the CRC-32 of what BertNormalizer makes of every code point.
"""
import array
import json
import pathlib
import random
import unicodedata
import zlib

from tokenizers import normalizers
from transformers import BertTokenizerFast

ROOT = pathlib.Path(__file__).resolve().parents[3]
GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"
PIECES = (ROOT / "data/bert-base-uncased-vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
BY_HAND = [
    "", " ", "Hello, World!", "[CLS] a [SEP] [sep] [MASK][PAD]x[UNK]", "unaffable\u0301 NA\u00cfVE na\u0131ve \u0130stanbul",
    "a" * 100, "a" * 101, "\u00e9" * 100 + " " + "e\u0301" * 101, "\u5317\u4eac\u5e02 in \uf900\u3042", "\u1112\u1161\u11ab\ud55c\uae00",
    "x\x00y\x0bz\x0c\x1c\x7f\x85\u00ad\u200b\u200d\u2060\ufeff\ufffdw", "a\u00a0b\u1680c\u2028d\u2029e\u3000f\tg\rh\ni",
    "$1+1^2|~`<tag>=#@\u00ab\u00bb\u2014\u2019\u3002", "\u03a3\u038a\u03a3\u03a5\u03a6\u039f\u03a3 \u1e9e \u01c4 \ufb01 \u212a",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea \u2764\ufe0f", "q\u0301\u0323\u0344\u0345\u0334 \u0915\u093c\u094d\u0937",
    "\u0627\u0644\u0652\u0639\u064e\u0631\u064e\u0628\u0650\u064a\u064e\u0651\u0629 \u05e9\u05b8\u05c1", "\u0340\u0341\u0343 \u0f73\u0f75\u0f81 \U0001d15e\U0001d165",
    "\u1734 \u180e \u166d \u0c04 \U00011938 \u1c89\u1c8a \ua7cb \U00010d50 \u0378",
]


def generated(count):
    """Words of the vocabulary, marks, rare characters of every block and special tokens, put together by chance."""
    chance = random.Random(20)
    known = [c for c in range(0x20, 0x110000) if unicodedata.category(chr(c)) not in ("Cn", "Co", "Cs")]
    marks = [c for c in known if unicodedata.combining(chr(c))]
    words = [piece for piece in PIECES if piece.isalpha()]

    def part():
        kind = chance.random()
        if kind < 0.35:
            return chance.choice(words) + chance.choice(["", " ", "-", chr(chance.choice(marks))])
        if kind < 0.45:
            return chance.choice("aEo\u0915\u1100") + "".join(chr(chance.choice(marks)) for _ in range(chance.randrange(1, 4)))
        if kind < 0.5:
            return chance.choice(["[SEP]", "[MASK] ", "[CLS", "##s", "\x00", "\x85", "\u200d", "\u2028"])
        return "".join(chr(chance.choice(known)) for _ in range(chance.randrange(1, 4))) + chance.choice(["", " "])

    return ["".join(part() for _ in range(chance.randrange(1, 9))) for _ in range(count)]


def tokenizer(cased):
    return BertTokenizerFast(vocab={piece: i for i, piece in enumerate(PIECES)}, do_lower_case=not cased)


def write_tokens():
    with open(GOLDEN / "tokens.jsonl", "w", encoding="ascii") as file:
        for cased, texts in ((False, BY_HAND + generated(300)), (True, BY_HAND + generated(60))):
            tokens = tokenizer(cased)(texts, add_special_tokens=False, return_offsets_mapping=True)
            for text, ids, offsets in zip(texts, tokens["input_ids"], tokens["offset_mapping"]):
                json.dump({"cased": cased, "text": text, "ids": ids, "offsets": [n for pair in offsets for n in pair]}, file)
                file.write("\n")


def code_point_crc(cased, before, after):
    normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=not cased)
    texts = (before + chr(c) + after for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    return zlib.crc32("\n".join(normalizer.normalize_str(text) for text in texts).encode())


def write_code_points():
    rows = [{"cased": cased, "before": before, "after": after, "crc32": code_point_crc(cased, before, after)}
            for cased in (False, True) for before, after in (("a", "b"), ("a\u302f", "\U0001d165"), ("a\u093c\u302e", "\u302a\u1037\u0b3f"))]
    (GOLDEN / "code_points.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="ascii")


def positions(offsets, sequence_ids, answers):
    """As prepare_train_features."""
    if not answers:
        return 0, 0
    begin = answers[0]["answer_start"]
    end = begin + len(answers[0]["text"])
    first = sequence_ids.index(1)
    last = len(sequence_ids) - 1 - sequence_ids[::-1].index(1)
    if not (offsets[first][0] <= begin and offsets[last][1] >= end):
        return 0, 0
    while first < len(offsets) and offsets[first][0] <= begin:
        first += 1
    while offsets[last][1] >= end:
        last -= 1
    return first - 1, last + 1


def features_row(questions, cased, max_length, doc_stride):
    tokens = tokenizer(cased)([text.lstrip() for text, _, _ in questions], [context for _, context, _ in questions],
                              truncation="only_second", max_length=max_length, stride=doc_stride,
                              return_overflowing_tokens=True, return_offsets_mapping=True)
    numbers = array.array("i")
    for i, ids in enumerate(tokens["input_ids"]):
        question = tokens["overflow_to_sample_mapping"][i]
        offsets = tokens["offset_mapping"][i]
        types = tokens["token_type_ids"][i]
        start, end = positions(offsets, tokens.sequence_ids(i), questions[question][2])
        numbers.extend([question, len(ids), types.index(1), start, end, *ids, *(n for pair in offsets for n in pair)])
    return {"cased": cased, "max_length": max_length, "doc_stride": doc_stride, "features": len(tokens["input_ids"]),
            "crc32": zlib.crc32(numbers.tobytes())}


def write_features():
    document = json.loads((ROOT / "data/squad2-excerpt.json").read_text(encoding="utf-8"))
    questions = [(q["question"], p["context"], q["answers"]) for a in document["data"] for p in a["paragraphs"] for q in p["qas"]]
    rows = [features_row(questions, *settings) for settings in ((False, 384, 128), (True, 384, 128), (False, 64, 16), (False, 50, 0))]
    (GOLDEN / "features.json").write_text(json.dumps({"questions": len(questions), "rows": rows}, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    write_tokens()
    write_code_points()
    write_features()
