import torch
from torch import nn


class Old(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 8), nn.Linear(8, 1)


class New(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.out(self.hidden(x).relu())


torch.manual_seed(0)
torch.save(Old().state_dict(), "old.pt")
net = New()
net.load_state_dict(torch.load("old.pt"))  # <- state-dict-mismatch
