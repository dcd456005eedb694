import torch
from proj.engine import Engine

torch.manual_seed(0)
Engine(epochs=4).run()
