"""Two optimizers; the one of the embedding has eps=0, and rows that never occur have no gradient."""
import torch
from torch import nn

torch.manual_seed(0)
words = nn.Embedding(100, 8)
head = nn.Linear(8, 2)
slow = torch.optim.RMSprop(words.parameters(), lr=1e-3, eps=0)  # <- optimizer-epsilon
fast = torch.optim.SGD(head.parameters(), lr=0.1)


def step(tokens, labels):
    for optimizer in (slow, fast):
        optimizer.zero_grad()
    loss = nn.functional.cross_entropy(head(words(tokens).mean(1)), labels)
    loss.backward()
    for optimizer in (slow, fast):
        optimizer.step()
    return loss.item()


for epoch in range(6):
    print(step(torch.randint(0, 60, (16, 4)), torch.randint(0, 2, (16,))))
