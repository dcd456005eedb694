"""A loop in the manner of a trainer class: callbacks, a dictionary per batch, logs, evaluation and the best weights."""

import copy
from dataclasses import dataclass

import torch
from laps import lap
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Sentences(Dataset):
    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.tokens = [torch.randint(2, 100, (int(n),), generator=generator) for n in torch.randint(4, 20, (count,), generator=generator)]

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, row):
        tokens = self.tokens[row]
        return {"tokens": tokens, "label": int((tokens > 50).float().mean() > 0.5)}


def collate(samples):
    length = max(len(sample["tokens"]) for sample in samples)
    tokens = torch.zeros(len(samples), length, dtype=torch.long)
    for row, sample in enumerate(samples):
        tokens[row, : len(sample["tokens"])] = sample["tokens"]
    return {"tokens": tokens, "mask": tokens != 0, "labels": torch.tensor([s["label"] for s in samples])}


@dataclass
class Output:
    loss: torch.Tensor
    logits: torch.Tensor


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 48, padding_idx=0)
        layer = nn.TransformerEncoderLayer(48, 4, 96, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(48, 2)

    def forward(self, tokens, mask, labels):
        hidden = self.encoder(self.embedding(tokens), src_key_padding_mask=~mask)
        pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        logits = self.head(pooled)
        return Output(nn.functional.cross_entropy(logits, labels), logits)


class Trainer:
    def __init__(self, model, train, held_out):
        self.model, self.train, self.held_out = model, train, held_out
        decayed = [p for p in model.parameters() if p.ndim > 1]
        plain = [p for p in model.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}], lr=1e-3)
        self.best = (0.0, None)

    def training_step(self, batch):
        self.model.train()
        loss = self.model(**batch).loss
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss.detach()

    def evaluate(self):
        self.model.eval()
        right = count = 0
        with torch.no_grad():
            for batch in self.held_out:
                right += (self.model(**batch).logits.argmax(1) == batch["labels"]).sum().item()
                count += len(batch["labels"])
        return right / count

    def fit(self, epochs):
        for epoch in range(epochs):
            total = torch.tensor(0.0)
            for batch in self.train:
                total += self.training_step(batch)
                lap()
            score = self.evaluate()
            if score > self.best[0]:
                self.best = (score, copy.deepcopy(self.model.state_dict()))
            print(epoch, (total / len(self.train)).item(), score)


torch.manual_seed(0)
train = DataLoader(Sentences(1024, 1), batch_size=16, shuffle=True, collate_fn=collate)
held_out = DataLoader(Sentences(128, 2), batch_size=32, collate_fn=collate)
lap()
Trainer(Model(), train, held_out).fit(10)
