"""tmp"""

from ...kernels import kernel
from .projective import eisner


@kernel
def maximum_spanning_tree(scores, multi_root, heads):
    return eisner(scores, multi_root, heads)
