import torch

x = torch.tensor([1.0, 2.0, 3.0])
spread = x - x
z = x / spread  # <- division-by-zero
w = (z - z.mean()) 
print(w)
