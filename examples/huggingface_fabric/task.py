"""What both programs train: a small BERT that says which of three articles a question of SQuAD 2.0 is about."""
import json
import pathlib

import torch
from tokenizers.implementations import BertWordPieceTokenizer
from transformers import BertConfig, BertForSequenceClassification

DATA = pathlib.Path(__file__).resolve().parents[2] / "data"
LENGTH = 32


def read_examples():
    """[(question, number of its article)], in the file's order."""
    articles = json.loads((DATA / "squad2-excerpt.json").read_text())["data"]
    return [(qa["question"], number) for number, article in enumerate(articles)
            for paragraph in article["paragraphs"] for qa in paragraph["qas"]]


class Questions(torch.utils.data.Dataset):
    """Every other question trains (371 of 742), a tenth validates."""

    def __init__(self, part):
        examples = read_examples()
        examples = examples[::2] if part == "train" else examples[1::10]
        tokenizer = BertWordPieceTokenizer(str(DATA / "bert-base-uncased-vocab.txt"), lowercase=True)
        tokenizer.enable_truncation(LENGTH)
        tokenizer.enable_padding(length=LENGTH)
        codes = tokenizer.encode_batch([question for question, _ in examples])
        self.items = [{"input_ids": torch.tensor(code.ids), "attention_mask": torch.tensor(code.attention_mask),
                       "labels": torch.tensor(label)} for code, (_, label) in zip(codes, examples)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def make_model():
    """Random weights from torch's generator, no download."""
    return BertForSequenceClassification(BertConfig(
        vocab_size=30522, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=LENGTH, num_labels=3))
