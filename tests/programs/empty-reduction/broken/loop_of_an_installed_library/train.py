import sys

sys.path.insert(0, "site-packages")
import torch
from meanlib import Trainer

torch.manual_seed(0)
batches = [(torch.randn(4, 3), torch.ones(4, 1)) for _ in range(4)]
batches[2][1].zero_()
trainer = Trainer(torch.nn.Linear(3, 1), batches)
loss = trainer.train()  # <- empty-reduction
