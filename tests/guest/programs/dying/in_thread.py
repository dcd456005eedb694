import threading

import torch


def work():
    torch.ones(2, 3) @ torch.ones(2, 3)


thread = threading.Thread(target=work, name="worker")
thread.start()
thread.join()
