"""A bidirectional LSTM gives twice its hidden size; the layer behind it was made for one."""

import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, vocabulary=100, width=32, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)
        self.classify = nn.Linear(hidden, 5)  # <- linear-size-mismatch

    def forward(self, x):
        states, _ = self.lstm(self.embed(x))
        return self.classify(states[:, -1])


def main():
    model = Tagger(100, 32, 48)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        logits = model(torch.randint(0, 100, (8, 12)))
        loss = nn.functional.cross_entropy(logits, torch.randint(0, 5, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


main()
