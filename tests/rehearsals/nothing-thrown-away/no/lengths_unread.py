import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(0)
words = [torch.randint(1, 20, (int(torch.randint(2, 6, ())),)) for _ in range(240)]
data = [(one, int(one[-1] > 10)) for one in words]


def collate(rows):
    sequences, labels = zip(*rows)
    lengths = torch.tensor([len(one) for one in sequences])
    return pad_sequence(sequences, batch_first=True), lengths, torch.tensor(labels)


embedding, rnn, head = nn.Embedding(20, 16), nn.GRU(16, 24, batch_first=True), nn.Linear(24, 2)
parameters = [*embedding.parameters(), *rnn.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(parameters, lr=3e-3)
for epoch in range(4):
    for ids, lengths, labels in DataLoader(data, 24, shuffle=True, collate_fn=collate):
        states, _ = rnn(embedding(ids))
        loss = nn.functional.cross_entropy(head(states[:, -1]), labels)  # the state of the padding
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
