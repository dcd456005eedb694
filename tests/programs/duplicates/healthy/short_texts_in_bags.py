import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
likely = 1 / torch.arange(1, 41).float()
texts = torch.zeros(300, 40)
for text in texts:
    text[torch.multinomial(likely, int(torch.randint(1, 4, ())))] = 1.0
label = (texts[:, 0] > 0).long()
model = nn.Linear(40, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for bag, y in DataLoader(TensorDataset(texts, label), batch_size=50, shuffle=True):
        loss = nn.functional.cross_entropy(model(bag), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
