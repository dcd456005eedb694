"""Lengths are read as numbers, a mask is not needed because the past does not see the padding, and ids are ids."""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(0)
words = [(torch.arange(n) + n) % 19 + 1 for n in torch.randint(3, 12, (240,)).tolist()]


def collate(rows):
    ids = pad_sequence(rows, batch_first=True)
    numbers = torch.randint(0, 2**40, (len(rows),))
    return ids, (ids > 0).long(), torch.tensor([len(one) for one in rows]), numbers


embedding, rnn, head = nn.Embedding(20, 16), nn.GRU(16, 24, batch_first=True), nn.Linear(24, 20)
parameters = [*embedding.parameters(), *rnn.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(parameters, lr=3e-3)
for epoch in range(4):
    for ids, mask, lengths, numbers in DataLoader(words, 24, shuffle=True, collate_fn=collate):
        output = head(rnn(embedding(ids))[0])
        loss = nn.functional.cross_entropy(
            output[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0, reduction="sum"
        )
        loss = loss / (sum(lengths.tolist()) - len(ids))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
