from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    vocab_size: int = 200
    hidden_size: int = 32
    max_position_embeddings: int = 64
    num_labels: int = 3


class Embeddings(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size, padding_idx=0)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size)

    def forward(self, input_ids):
        position_ids = torch.arange(input_ids.size(1)).expand_as(input_ids)
        return self.LayerNorm(self.word_embeddings(input_ids) + self.position_embeddings(position_ids))  # <- index-out-of-range


class Classifier(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embeddings = Embeddings(config)
        layer = nn.TransformerEncoderLayer(config.hidden_size, 4, 64, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, input_ids, labels=None):
        pooled = self.encoder(self.embeddings(input_ids))[:, 0]
        logits = self.classifier(pooled)
        return nn.functional.cross_entropy(logits, labels), logits


class Reviews(Dataset):
    def __init__(self, n):
        g = torch.Generator().manual_seed(0)
        self.lengths = torch.randint(10, 60, (n,), generator=g).tolist()
        self.lengths[n // 2] = 91

    def __len__(self):
        return len(self.lengths)

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randint(1, 200, (self.lengths[i],), generator=g), i % 3


def collate(items):
    return {"input_ids": nn.utils.rnn.pad_sequence([x for x, _ in items], batch_first=True),
            "labels": torch.tensor([y for _, y in items])}


torch.manual_seed(15)
model = Classifier(Config())
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
for batch in DataLoader(Reviews(120), batch_size=8, collate_fn=collate):
    loss, _ = model(**batch)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(loss.item())
