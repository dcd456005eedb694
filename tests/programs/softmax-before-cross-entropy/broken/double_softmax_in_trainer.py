import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.classifier = nn.Sequential(nn.Dropout(0.1), nn.Linear(32, 4), nn.Softmax(dim=-1))  # <- softmax-before-cross-entropy

    def forward(self, x):
        return self.classifier(self.features(x))


class Trainer:
    def __init__(self, model, loader):
        self.model = model
        self.loader = loader
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def training_step(self, batch):
        images, labels = batch
        return self.criterion(self.model(images), labels)

    def fit(self, epochs):
        for _ in range(epochs):
            self.model.train()
            for batch in self.loader:
                self.optimizer.zero_grad(set_to_none=True)
                loss = self.training_step(batch)
                loss.backward()
                self.optimizer.step()


torch.manual_seed(0)
images = torch.rand(128, 1, 10, 10)
labels = (images.mean(dim=(1, 2, 3)) * 100).long() % 4
Trainer(ConvNet(), DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True)).fit(3)
