"""How far back the graph of a tensor reaches: a sum kept over many steps hangs on the graph of every one of them."""

from __future__ import annotations

import heapq
from itertools import count
from typing import Any

from torchwhy.observe.torch_features.autograd_nodes import number_of_node

MOST_NODES = 1500  # operations followed in one look, 6 µs each


class Chains:
    """Walks graphs from the newest operation to the oldest, all tensors of one look sharing one allowance.

    `mark` is autograd's counter at the first look: operations with a smaller number are older than that.
    """

    def __init__(self, mark: int) -> None:
        self.mark = mark
        self.left = MOST_NODES
        self._young: set[Any] = set()

    def links(self, root: Any) -> int:
        """Return through how many operations a graph reaches back beyond the mark; 0: not at all, or not known.

        The oldest operation is followed first, so in `total = total + loss` the way leads from sum to sum.
        """
        numbers = count()
        queue = [(number_of_node(root), next(numbers), root)]
        if queue[0][0] < self.mark:
            return 0
        seen = {root}
        followed = 0
        while queue and self.left > 0:
            sequence, _, node = heapq.heappop(queue)
            if 0 <= sequence < self.mark:
                return followed
            followed += 1
            self.left -= 1
            for earlier, _ in node.next_functions:
                if earlier is not None and earlier not in seen and earlier not in self._young:
                    seen.add(earlier)
                    heapq.heappush(queue, (number_of_node(earlier), next(numbers), earlier))
        if not queue:
            self._young |= seen
        return 0
