"""A small GAN; counts our Python calls in one of its later steps."""

import importlib.util
import os
import statistics
import sys

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=1e-4)
of_critic = torch.optim.Adam(critic.parameters(), lr=1e-4)
loss_of = nn.BCEWithLogitsLoss()
OURS = importlib.util.find_spec("torchwhy")
FOLDER = os.path.dirname(OURS.origin) + os.sep if OURS is not None else os.devnull
calls = []


def count_call(frame, event, _):
    calls[-1] += event == "call" and frame.f_code.co_filename.startswith(FOLDER)


def train():
    fake = generator(torch.randn(32, 4))
    loss = loss_of(critic(torch.randn(32, 2)), torch.ones(32, 1)) + loss_of(critic(fake.detach()), torch.zeros(32, 1))
    of_critic.zero_grad()
    loss.backward()
    of_critic.step()
    against = loss_of(critic(fake), torch.ones(32, 1))
    of_generator.zero_grad()
    against.backward()
    of_generator.step()


for _ in range(70):
    train()
for _ in range(25):
    calls.append(0)
    sys.setprofile(count_call)
    train()
    sys.setprofile(None)
print(statistics.median(calls))
