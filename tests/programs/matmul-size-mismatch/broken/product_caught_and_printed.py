import torch

a = torch.randn(3, 4)
b = torch.randn(5, 2)
try:
    print(a @ b)  # <- matmul-size-mismatch
except RuntimeError as e:
    print("failed:", e)
