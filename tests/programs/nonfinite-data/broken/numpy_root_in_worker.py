"""NumPy warns in a worker process, where nobody listens."""
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Spectra(Dataset):
    def __init__(self):
        self.power = np.random.default_rng(0).uniform(0.1, 5, size=(60, 8))
        self.power[44, 3] = -0.01

    def __len__(self):
        return 60

    def __getitem__(self, i):
        amplitude = np.sqrt(self.power[i])  # <- nonfinite-data
        return amplitude.astype(np.float32), np.float32(i % 2)


def main():
    torch.manual_seed(0)
    loader = DataLoader(Spectra(), batch_size=6, num_workers=2, shuffle=True)
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for epoch in range(2):
        for x, y in loader:
            loss = torch.nn.functional.binary_cross_entropy_with_logits(net(x).squeeze(1), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
