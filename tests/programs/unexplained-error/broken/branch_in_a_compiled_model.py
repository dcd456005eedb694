import torch
import torch.nn as nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        h = self.fc(x)
        if h.abs().max() > 3:
            h = h / h.abs().max()
        return self.out(torch.relu(h))


torch.manual_seed(0)
model = Gate()
step_model = torch.compile(model, fullgraph=True, backend="eager")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(64, 16), torch.randn(64, 1)
for step in range(5):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(step_model(x), y)  # <- unexplained-error
    loss.backward()
    optimizer.step()
