import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Sentences(IterableDataset):
    def __iter__(self):
        for number in range(64):
            yield torch.randint(0, 50, (9 - number % 4,)), number % 2


def main():
    table = nn.Embedding(50, 8)
    head = nn.Linear(8, 2)
    opt = torch.optim.SGD([*table.parameters(), *head.parameters()], lr=0.1)
    for x, y in DataLoader(Sentences(), batch_size=4, num_workers=2):  # <- ragged-batch
        loss = nn.functional.cross_entropy(head(table(x).mean(1)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    main()
