"""Generated text for comparing tokenizers: every kind of character that a rule of BERT's normalizer, pre-tokenizer or word pieces
speaks of, in every neighbourhood. Seeded, so always the same."""

import random
import sys
import unicodedata

ASSIGNED = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) not in ("Cs", "Cn")]
_by_category = {}
for _code in ASSIGNED:
    _by_category.setdefault(unicodedata.category(chr(_code)), []).append(chr(_code))


def _of(*categories):
    return [character for category in categories for character in _by_category[category]]


def _between(*ranges):
    return [chr(code) for first, last in ranges for code in range(first, last + 1)]


CJK_RANGES = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
              (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)]
_decomposing = [chr(code) for code in ASSIGNED if unicodedata.normalize("NFD", chr(code)) != chr(code) and not 0xAC00 <= code <= 0xD7A3]
_changing_case = [chr(code) for code in ASSIGNED if chr(code).lower() != chr(code)]
_growing = [chr(code) for code in ASSIGNED if len(chr(code).lower()) > 1 or len(unicodedata.normalize("NFD", chr(code))) > 2]
_words = ["the", "of", "Running", "UNAFFABLE", "Normandy", "10th", "3,500", "don't", "U.S.A.", "naïve", "résumé", "##ing", "tokenization", "x", "a", "İ"]
_special = ["[SEP]", "[CLS]", "[MASK]", "[PAD]", "[UNK]", "[sep]", "[SEP", "SEP]", "[unused7]", "[[MASK]]"]

# (weight, characters or words to draw from)
KINDS = [
    (30, _between((0x61, 0x7A))), (10, _between((0x20, 0x7E))), (14, [" "]), (4, _words), (2, _special),
    (3, _of("Zs", "Zl", "Zp") + list("\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85")), (3, _of("Cc")), (3, _of("Cf")), (1, _of("Co")[:300] + _of("Co")[-300:]),
    (5, _of("Mn")), (2, _of("Mc", "Me")), (4, _of("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po")), (3, _of("Sm", "Sc", "Sk", "So")),
    (4, _between(*CJK_RANGES)), (2, [chr(code + step) for pair in CJK_RANGES for code in pair for step in (-1, 0, 1)]),
    (4, _decomposing), (4, _changing_case), (2, _growing), (3, _between((0xAC00, 0xD7A3))), (2, _between((0x1100, 0x11FF), (0xA960, 0xA97C), (0xD7B0, 0xD7FB))),
    (3, _between((0x600, 0x6FF), (0x5D0, 0x5EA), (0x900, 0x97F), (0xE00, 0xE5B))), (3, _between((0x1F300, 0x1FAFF), (0x1F1E6, 0x1F1FF), (0x2600, 0x27BF))),
    (2, list("\u200d\ufe0f\u20e3\u200b\u200c\ufeff\ufffd\x00\u0301\u0307\u0308\u034f")), (2, [chr(code) for code in ASSIGNED]),
    (1, [chr(code) for code in range(0x80, sys.maxunicode + 1, 7) if not 0xD800 <= code <= 0xDFFF]), (3, _of("Nd", "Nl", "No")), (3, _between((0xC0, 0x24F), (0x370, 0x52F), (0x1E00, 0x1FFF))),
]
_weights = [weight for weight, _ in KINDS]


def make_string(draw, longest=60):
    """Never empty. Most strings mix a few kinds; some are one long word."""
    if draw.random() < 0.02:
        character = draw.choice(draw.choices(KINDS, _weights)[0][1])
        return character * draw.choice((50, 51, 99, 100, 101, 102, 200))
    kinds = draw.choices(KINDS, _weights, k=draw.randint(1, 5))
    kinds += [KINDS[0]] * draw.randint(0, 2) + [KINDS[2]] * draw.randint(0, 1)
    return "".join(draw.choice(draw.choice(kinds)[1]) for _ in range(draw.randint(1, longest)))


def strings(number, seed, longest=60):
    draw = random.Random(seed)
    return [make_string(draw, longest) for _ in range(number)]


def all_characters(thin):
    """Every code point, assigned or not (`thin`: the assigned ones, and of CJK, Hangul and private ones only each 61st), amid letters,
    spaces and others, 24 a string."""
    if thin:
        many = CJK_RANGES + [(0xAC00, 0xD7A3), (0xE000, 0xF8FF), (0xF0000, sys.maxunicode)]
        codes = [code for code in ASSIGNED if code % 61 == 0 or not any(first <= code <= last for first, last in many)]
    else:
        codes = [code for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    patterns = ["{0}", "a{0}b", " {0} ", "A{0}", "{0}e\u0301"]
    pieces = [patterns[number % len(patterns)].format(chr(code)) for number, code in enumerate(codes)]
    # A second time at another place of the pattern, so that each occurs within a word and alone.
    pieces += [patterns[(number + 2) % len(patterns)].format(chr(code)) for number, code in enumerate(codes)]
    return ["".join(pieces[first:first + 24]) for first in range(0, len(pieces), 24)]
