import torch

problems = []
for size in (2, 3):
    try:
        torch.ones(size, 5) @ torch.ones(size, 5)
    except RuntimeError as problem:
        problems.append(problem)
raise ExceptionGroup("two", problems)
