import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
frequency = 1 / torch.arange(1, 31).float()
words = torch.multinomial(frequency, 600, replacement=True)
context = nn.functional.one_hot(words.roll(1), 30).float()
model = nn.Linear(30, 30)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    for inputs, labels in DataLoader(TensorDataset(context, words), batch_size=50, shuffle=True):
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
