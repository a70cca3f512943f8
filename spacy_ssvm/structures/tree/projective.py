"""tmp"""

import numpy as np
from ...kernels import kernel


@kernel
def eisner(scores, multi_root, heads):
    n = len(scores) - 1
    heads[0] = -1
    N = n + 1
    cr = np.full((N, N), -np.inf)
    cl = np.full((N, N), -np.inf)
    ir = np.full((N, N), -np.inf)
    il = np.full((N, N), -np.inf)
    br = np.zeros((N, N), np.int32)
    bl = np.zeros((N, N), np.int32)
    bi = np.zeros((N, N), np.int32)
    for i in range(N):
        cr[i, i] = 0.0
        cl[i, i] = 0.0
    for w in range(1, N):
        for i in range(0, N - w):
            j = i + w
            if i == 0 and not multi_root:
                # single root: only arc 0->j with left complete part empty handled by restricting
                best, arg = -np.inf, 0
                v = cr[0, 0] + cl[1, j] if j >= 1 else -np.inf
                best, arg = v, 0
            else:
                best, arg = -np.inf, i
                for k in range(i, j):
                    v = cr[i, k] + cl[k + 1, j] if False else cr[i, k] + cl[j, k + 1]
                    if v > best:
                        best, arg = v, k
            if i == 0 and not multi_root:
                best = cl[j, 1]
                arg = 0
            ir[i, j] = best + scores[i, j]
            il[i, j] = best + scores[j, i] if i > 0 else -np.inf
            bi[i, j] = arg
            best, arg = -np.inf, j
            for k in range(i + 1, j + 1):
                v = ir[i, k] + cr[k, j]
                if v > best:
                    best, arg = v, k
            cr[i, j] = best
            br[i, j] = arg
            if i > 0:
                best, arg = -np.inf, i
                for k in range(i, j):
                    v = cl[k, i] + il[k, j]
                    if v > best:
                        best, arg = v, k
                cl[j, i] = best
                bl[i, j] = arg
    stack = [(0, n, 0)]
    while len(stack) > 0:
        i, j, kind = stack.pop()
        if i == j:
            continue
        if kind == 0:
            k = br[i, j]
            heads[k] = i
            stack.append((k, j, 0))
            q = bi[i, k]
            stack.append((i, q, 0))
            stack.append((q + 1, k, 1))
        else:
            k = bl[i, j]
            heads[k] = j
            stack.append((i, k, 1))
            q = bi[k, j]
            stack.append((k, q, 0))
            stack.append((q + 1, j, 1))
    return cr[0, n]
