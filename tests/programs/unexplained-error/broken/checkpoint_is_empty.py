import torch

open("last.pt", "w").close()
state = torch.load("last.pt")  # <- unexplained-error
