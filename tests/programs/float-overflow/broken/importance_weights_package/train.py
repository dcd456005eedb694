"""Off-policy evaluation in a package of several files."""
import torch

from evaluation.data import trajectories
from evaluation.losses import weighted_return
from evaluation.model import Behaviour


def main():
    torch.manual_seed(0)
    model = Behaviour(4)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for states, rewards in trajectories(10):
        loss = -weighted_return(model(states), rewards)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
