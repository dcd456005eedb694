"""A causal language model with micro-batches: one of them has only prompt tokens, so no label counts."""
import torch
import torch.nn.functional as F
from torch import nn

IGNORE = -100


class TinyLM(nn.Module):
    def __init__(self, vocabulary=30, width=16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, 2, 32, batch_first=True, dropout=0.1)
        self.body = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        causal = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.body(self.embed(tokens), mask=causal, is_causal=True))


def micro_batches(n):
    for i in range(n):
        tokens = torch.randint(0, 30, (2, 8))
        prompt = torch.tensor([3, 8 if i != 13 else 5])
        if i == 13:
            prompt[:] = 8
        yield tokens, prompt


def token_loss(logits, tokens, prompt):
    counts = torch.arange(1, tokens.shape[1])[None] >= prompt[:, None]
    nll = F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    return (nll * counts).sum() / counts.sum()  # <- empty-reduction


torch.manual_seed(0)
model = TinyLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 4))
for i, (tokens, prompt) in enumerate(micro_batches(16)):
    loss = token_loss(model(tokens), tokens, prompt) / 4
    loss.backward()
    if i % 4 == 3:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
