import torch
x = torch.tensor([4.0, -1.0])
print(torch.sqrt(x).numpy())  # <- domain-error
