import torch
from torch import nn

torch.manual_seed(0)
lstm = nn.LSTM(input_size=3, hidden_size=10, num_layers=2)  # <- lstm-batch-first
head = nn.Linear(10, 1)
optimizer = torch.optim.Adam(list(lstm.parameters()) + list(head.parameters()), lr=1e-2)
for step in range(30):
    x = torch.randn(24, 8, 3)
    y = x[:, -1, :1]
    states, _ = lstm(x)
    loss = nn.functional.mse_loss(head(states[:, -1, :]), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
