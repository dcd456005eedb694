"""A job of Ray Train with two workers, of which the second divides by zero; torchwhy's variables go to the workers.

The variables are taken out of the driver's environment, so that only `runtime_env` can bring them, as on a cluster
that was started before.
"""

import os

import torch
from torch import nn

PASSED = ("TORCHWHY_RUN", "PYTHONPATH", "PYTHONHASHSEED")


def train_worker():
    import ray.train.torch

    rank = ray.train.get_context().get_world_rank()
    model = ray.train.torch.prepare_model(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(rank)
    for step in range(6):
        x = torch.randn(8, 4)
        if rank == 1 and step == 4:
            x = x / torch.zeros(1)
        loss = (model(x) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    import ray
    from ray.train import ScalingConfig
    from ray.train.torch import TorchTrainer

    passed = {name: os.environ.pop(name) for name in PASSED if name in os.environ}
    ray.init(address="local", num_cpus=2, include_dashboard=False, runtime_env={"env_vars": passed})
    TorchTrainer(train_worker, scaling_config=ScalingConfig(num_workers=2)).fit()
