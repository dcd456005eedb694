import torch
from torch import nn


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(10, 8)
        self.lstm = nn.LSTM(8, 12, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(24, 10)

    def forward(self, x):
        h, _ = self.lstm(self.emb(x))  # <- future-leak
        return self.fc(h)


torch.manual_seed(0)
lines = torch.randint(0, 10, (48, 10))
loader = torch.utils.data.DataLoader(lines, batch_size=6, shuffle=True)
model = LM()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for ids in loader:
        optimizer.zero_grad()
        out = model(ids)
        loss = criterion(out[:, :-1].reshape(-1, 10), ids[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
