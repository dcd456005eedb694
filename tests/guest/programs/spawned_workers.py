import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
import witness


class Noisy(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        torch.manual_seed(index)
        features = torch.randn(5)
        return features * 2, nn.ReLU()(features.sum(0, keepdim=True))


if __name__ == "__main__":
    witness.seed()
    model = nn.Linear(5, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loader = DataLoader(Noisy(), batch_size=4, shuffle=True, num_workers=2, multiprocessing_context="spawn")
    for x, y in loader:
        loss = (model(x) - y).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        witness.swear("loss", loss)
    witness.swear("model", model)
    witness.testify()
