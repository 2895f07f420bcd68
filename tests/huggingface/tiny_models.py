"""Models of transformers with weights that show mistakes: no bias is 0, no LayerNorm is the identity, attention is not flat."""

import torch
from transformers import BertConfig, BertForQuestionAnswering

# Parameters whose true gradient is 0: the softmax ignores a shift (all key biases, the last LayerNorm's bias, the head's).
def is_gauge(name, layers):
    return (name.endswith("attention.self.key.bias") or name == "qa_outputs.bias"
            or name == f"bert.encoder.layer.{layers - 1}.output.LayerNorm.bias")


def make_config(layers, hidden, heads, intermediate, vocabulary, positions, eps=1e-12):
    return BertConfig(
        num_hidden_layers=layers, hidden_size=hidden, num_attention_heads=heads, intermediate_size=intermediate,
        vocab_size=vocabulary, max_position_embeddings=positions, layer_norm_eps=eps)


def make_model(config, seed, spread=0.25, dtype=torch.float64):
    """Weights N(0, spread), biases N(0, 0.3), LayerNorm weights 1 + N(0, 0.3); in evaluation mode, so without dropout."""
    model = BertForQuestionAnswering(config).to(torch.float64)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            if name.endswith("LayerNorm.weight"):
                parameter.copy_(1 + 0.3 * noise)
            elif name.endswith("bias"):
                parameter.copy_(0.3 * noise)
            else:
                parameter.copy_(spread * noise)
    return model.to(dtype).eval()
