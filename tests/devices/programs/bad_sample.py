"""One sample of the third epoch makes the loss infinite; dropout draws from the generator of the device."""

import torch
import toy_device  # noqa: F401 - registers the device
from torch import nn
from torch.utils.data import DataLoader, Dataset

BAD = 17


class Measurements(Dataset):
    """Positive measurements; the sensor failed once after two epochs."""

    def __init__(self):
        generator = torch.Generator().manual_seed(0)
        self.values = torch.rand(48, 6, generator=generator) + 0.1
        self.targets = self.values.sum(1, keepdim=True)
        self.given = 0

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        self.given += 1
        values = self.values[index]
        if index == BAD and self.given > 2 * len(self):
            values = torch.zeros_like(values)
        return values, self.targets[index]


torch.manual_seed(0)
loader = DataLoader(Measurements(), batch_size=4, shuffle=True)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Dropout(0.3), nn.Linear(16, 1)).to("toy")
# Its gradients stay finite and depend on what dropout draws, so a repeated step must draw the same.
side = nn.Sequential(nn.Dropout(0.5), nn.Linear(6, 1)).to("toy")
optimizer = torch.optim.Adam([*model.parameters(), *side.parameters()], lr=0.01)

for epoch in range(5):
    for values, targets in loader:
        values, targets = values.to("toy"), targets.to("toy")
        predicted = model(torch.log(values))  # <- log-of-nonpositive
        loss = nn.functional.mse_loss(predicted, targets)
        loss = loss + nn.functional.mse_loss(side(values), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
