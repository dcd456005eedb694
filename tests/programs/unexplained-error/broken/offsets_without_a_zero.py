import torch
import torch.nn as nn
from torch.utils.data import DataLoader


def collate(batch):
    labels, tokens, lengths = [], [], []
    for label, text in batch:
        labels.append(label)
        tokens.append(torch.tensor(text))
        lengths.append(len(text))
    offsets = torch.tensor(lengths).cumsum(dim=0)
    return torch.tensor(labels), torch.cat(tokens), offsets


torch.manual_seed(0)
data = [(i % 2, torch.randint(0, 60, (3 + i % 5,)).tolist()) for i in range(64)]
loader = DataLoader(data, batch_size=8, shuffle=True, collate_fn=collate)
emb = nn.EmbeddingBag(60, 16)
fc = nn.Linear(16, 2)
optimizer = torch.optim.SGD([*emb.parameters(), *fc.parameters()], lr=1.0)
for epoch in range(2):
    for label, text, offsets in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(fc(emb(text, offsets)), label)  # <- unexplained-error
        loss.backward()
        optimizer.step()
