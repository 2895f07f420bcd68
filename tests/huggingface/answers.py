"""Ports to compare with: run_qa's post-processing (postprocess_qa_predictions of its utils_qa.py) and the official EM and F1 of SQuAD 2.0."""

import collections
import re
import string

import numpy


def best_answer(context, features, may_be_empty, n_best=20, max_answer_length=30, null_threshold=0.0):
    """`features`: for each (start logits, end logits, offsets), float32; an offset is None outside the context."""
    null, found = None, []
    for start_logits, end_logits, offsets in features:
        null_score = start_logits[0] + end_logits[0]
        if null is None or null["score"] > null_score:
            null = {"offsets": (0, 0), "score": null_score, "start": start_logits[0], "end": end_logits[0]}
        starts = numpy.argsort(start_logits)[-1:-n_best - 1:-1].tolist()
        ends = numpy.argsort(end_logits)[-1:-n_best - 1:-1].tolist()
        for start in starts:
            for end in ends:
                if offsets[start] is None or offsets[end] is None or end < start or end - start + 1 > max_answer_length:
                    continue
                found.append({"offsets": (offsets[start][0], offsets[end][1]), "score": start_logits[start] + end_logits[end],
                              "start": start_logits[start], "end": end_logits[end]})
    if may_be_empty:
        found.append(null)
    best = sorted(found, key=lambda each: each["score"], reverse=True)[:n_best]
    if may_be_empty and not any(each["offsets"] == (0, 0) for each in best):
        best.append(null)
    for each in best:
        each["text"] = context[each["offsets"][0]:each["offsets"][1]]
    if not best or (len(best) == 1 and best[0]["text"] == ""):
        best.insert(0, {"text": "empty", "start": 0.0, "end": 0.0})
    if not may_be_empty:
        return best[0]["text"]
    first = next(each for each in best if each["text"] != "")
    return "" if null["score"] - first["start"] - first["end"] > null_threshold else first["text"]


def normalize(text):
    text = "".join(character for character in text.lower() if character not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def exact_and_f1(prediction, golds):
    """As evaluate-v2.0.py: golds that normalise to nothing do not count; with none left the answer is ""."""
    golds = [gold for gold in golds if normalize(gold)] or [""]
    exact = max(float(normalize(prediction) == normalize(gold)) for gold in golds)
    f1 = 0.0
    for gold in golds:
        ours, theirs = normalize(prediction).split(), normalize(gold).split()
        if not ours or not theirs:
            f1 = max(f1, float(ours == theirs))
            continue
        common = sum((collections.Counter(ours) & collections.Counter(theirs)).values())
        if common:
            precision, recall = common / len(ours), common / len(theirs)
            f1 = max(f1, 2 * precision * recall / (precision + recall))
    return exact, f1
