"""SQuAD features as Hugging Face's examples/pytorch/question-answering/run_qa.py makes them for training, and ours."""

import json
import os
import subprocess

import environment
from transformers import BertTokenizerFast


def make_tokenizer(vocabulary=environment.VOCABULARY, cased=False):
    # From the bare vocabulary, like a model's folder without tokenizer.json.
    with open(vocabulary, encoding="utf-8", newline="\n") as file:
        words = file.read().split("\n")
    if words and words[-1] == "":
        words.pop()
    return BertTokenizerFast(vocab={word: index for index, word in enumerate(words)}, do_lower_case=not cased)


def read_squad(path):
    """Questions in the file's order: id, question, context, answers (text and answer_start apart, as datasets gives them)."""
    examples = []
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    for article in document["data"]:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                answers = question.get("answers", [])
                examples.append({
                    "id": question["id"], "question": question["question"], "context": paragraph["context"],
                    "answers": {"text": [answer["text"] for answer in answers], "answer_start": [answer["answer_start"] for answer in answers]}})
    return examples


def run_qa_features(tokenizer, examples, max_length=384, doc_stride=128, pad_to_max_length=False):
    """prepare_train_features of run_qa, one dictionary a feature with the keys that `hpcbench-train features` prints."""
    tokenized = tokenizer(
        [example["question"].lstrip() for example in examples], [example["context"] for example in examples],
        truncation="only_second", max_length=max_length, stride=doc_stride, return_overflowing_tokens=True,
        return_offsets_mapping=True, padding="max_length" if pad_to_max_length else False)
    features = []
    for number, offsets in enumerate(tokenized["offset_mapping"]):
        input_ids = tokenized["input_ids"][number]
        example = examples[tokenized["overflow_to_sample_mapping"][number]]
        cls_index = input_ids.index(tokenizer.cls_token_id)
        sequence_ids = tokenized.sequence_ids(number)
        start = end = cls_index
        if example["answers"]["answer_start"]:
            start_char = example["answers"]["answer_start"][0]
            end_char = start_char + len(example["answers"]["text"][0])
            first = 0
            while sequence_ids[first] != 1:
                first += 1
            last = len(input_ids) - 1
            while sequence_ids[last] != 1:
                last -= 1
            if offsets[first][0] <= start_char and offsets[last][1] >= end_char:
                while first < len(offsets) and offsets[first][0] <= start_char:
                    first += 1
                start = first - 1
                while offsets[last][1] >= end_char:
                    last -= 1
                end = last + 1
        features.append({
            "example_id": example["id"], "input_ids": input_ids, "token_type_ids": tokenized["token_type_ids"][number],
            "attention_mask": tokenized["attention_mask"][number], "offsets": [list(pair) for pair in offsets],
            "start_position": start, "end_position": end})
    return features


def our_features(data, cache, vocabulary=environment.VOCABULARY, max_length=384, doc_stride=128, cased=False, arguments=()):
    command = [environment.TRAIN, "features", "--data", str(data), "--vocab", str(vocabulary), "--max-length", str(max_length),
               "--doc-stride", str(doc_stride)] + (["--cased"] if cased else []) + list(arguments)
    done = subprocess.run(command, capture_output=True, env=dict(os.environ, XDG_CACHE_HOME=str(cache)))
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.decode(errors='replace')}")
    return [json.loads(line) for line in done.stdout.decode("utf-8").split("\n") if line]
