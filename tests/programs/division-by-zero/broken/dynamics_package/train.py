"""Neural ODE in a package; the solver's own step size goes to zero."""
import argparse

import torch

from ode.field import Field
from ode.solver import AdaptiveEuler


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tolerance", type=float, default=1e-3)
    options = parser.parse_args()
    torch.manual_seed(0)
    field, solver = Field(2), AdaptiveEuler(options.tolerance)
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
    for step in range(12):
        start = torch.randn(8, 2)
        if step == 8:
            start = torch.zeros(8, 2)
        end = solver.integrate(field, start, steps=5)
        loss = (end - torch.tensor([1.0, 0.0])).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
