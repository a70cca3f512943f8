"""The kernel contract: how every numba function of this package is compiled, cached and called."""

from .annotations import ArrayType as ArrayType
from .annotations import Float32Array as Float32Array
from .annotations import Float32Array2d as Float32Array2d
from .annotations import Float32Array3d as Float32Array3d
from .annotations import Float64Array as Float64Array
from .annotations import Float64Array2d as Float64Array2d
from .annotations import Int8Array as Int8Array
from .annotations import Int32Array as Int32Array
from .annotations import Int32Array2d as Int32Array2d
from .annotations import Int64Array as Int64Array
from .annotations import Int64Array2d as Int64Array2d
from .annotations import Signature as Signature
from .annotations import UInt64Array as UInt64Array
from .annotations import UInt64Array2d as UInt64Array2d
from .annotations import UInt64Array3d as UInt64Array3d
from .annotations import signature as signature
from .contract import KERNELS as KERNELS
from .contract import CacheStatistics as CacheStatistics
from .contract import FirstClassFunction as FirstClassFunction
from .contract import Kernel as Kernel
from .contract import cache_statistics as cache_statistics
from .contract import fingerprint as fingerprint
from .contract import kernel as kernel
from .contract import specialise as specialise
from .prefetching import prefetch as prefetch
from .sources import source_digest as source_digest
