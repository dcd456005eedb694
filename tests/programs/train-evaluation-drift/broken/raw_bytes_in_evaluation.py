import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Digits(Dataset):
    def __init__(self, train):
        generator = torch.Generator().manual_seed(int(train))
        self.train = train
        self.labels = torch.randint(0, 2, (96 if train else 48,), generator=generator)
        self.pixels = torch.randint(0, 256, (len(self.labels), 1, 8, 8), generator=generator)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.pixels[i].float()
        if self.train:
            image = image / 255.0
        return {"image": image, "label": self.labels[i]}


def run_epoch(model, loader, optimizer=None):
    total = 0.0
    for batch in loader:
        with torch.set_grad_enabled(optimizer is not None):
            loss = nn.functional.cross_entropy(model(batch["image"]), batch["label"])
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item()
    return total / len(loader)


torch.manual_seed(0)
train_loader = DataLoader(Digits(True), batch_size=16, shuffle=True)
test_loader = DataLoader(Digits(False), batch_size=16)  # <- train-evaluation-drift
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(2):
    print(run_epoch(model, train_loader, optimizer), run_epoch(model, test_loader))
