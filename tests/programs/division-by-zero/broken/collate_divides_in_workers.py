"""The collate function scales every sample by its range; in a worker process nobody sees the 0/0."""
import torch
from torch.utils.data import DataLoader


def collate(samples):
    x = torch.stack([s for s, _ in samples])
    low, high = x.amin(1, keepdim=True), x.amax(1, keepdim=True)
    x = (x - low) / (high - low)  # <- division-by-zero
    return x, torch.tensor([label for _, label in samples])


def main():
    torch.manual_seed(0)
    samples = [(torch.randn(6), i % 2) for i in range(80)]
    samples[55] = (torch.full((6,), 0.7), 1)
    loader = DataLoader(samples, batch_size=8, num_workers=2, collate_fn=collate, shuffle=True)
    model = torch.nn.Linear(6, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(2):
        for x, label in loader:
            loss = torch.nn.functional.cross_entropy(model(x), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
