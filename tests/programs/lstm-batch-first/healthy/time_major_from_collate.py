import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader


def collate(items):
    sequences, labels = zip(*items)
    return pad_sequence(sequences), torch.tensor(labels)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 16, bidirectional=True)
        self.score = nn.Linear(32, 1)
        self.out = nn.Linear(32, 2)

    def forward(self, x):
        states, _ = self.rnn(x)
        weights = torch.softmax(self.score(states), dim=0)
        return self.out((weights * states).sum(dim=0))


torch.manual_seed(0)
data = []
for number in range(120):
    sequence = torch.randn(int(torch.randint(5, 12, ())), 4)
    data.append((sequence, int(sequence.mean() > 0)))
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for x, y in DataLoader(data, batch_size=15, collate_fn=collate, shuffle=True):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
