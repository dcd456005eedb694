import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(3, 5)
        self.state = None

    def forward(self, x):
        if self.state is None:
            self.state = x.new_zeros(len(x), 5)
        self.state = self.cell(x, self.state)  # <- graph-freed
        return self.state
