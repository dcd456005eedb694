import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def mask_words(rows):
    """Mask words at random, as is usual for masked language models, in training and evaluation alike."""
    ids = torch.stack([row[0] for row in rows])
    masked = torch.rand(ids.shape) < 0.2
    return {"ids": ids.masked_fill(masked, 0), "labels": ids.masked_fill(~masked, -100)}


torch.manual_seed(0)
ids = torch.randint(1, 20, (80, 10))
train_loader = DataLoader(TensorDataset(ids[:60]), 10, shuffle=True, collate_fn=mask_words)
val_loader = DataLoader(TensorDataset(ids[60:]), 20, collate_fn=mask_words)
model = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 20))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(3):
    for batch in train_loader:
        logits = model(batch["ids"])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        for batch in val_loader:
            logits = model(batch["ids"])
            print(nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten()).item())
