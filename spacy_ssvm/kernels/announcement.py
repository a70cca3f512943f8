"""Messages to the user while kernels are compiled."""

import logging
import time

LOGGER = logging.getLogger("spacy.ssvm")
_INTERVAL = 4.0
"""Seconds between two messages."""


class _Announcer:
    """Tells the user that kernels are being compiled: at the first kernel, and again every few seconds."""

    def __init__(self) -> None:
        self._n_compiled = 0
        self._last = -_INTERVAL

    def __call__(self, name: str) -> None:
        """Report that the named kernel is about to be compiled."""
        now = time.monotonic()
        if now - self._last >= _INTERVAL:
            self._last = now
            if self._n_compiled:
                LOGGER.warning("Still compiling kernels, %d so far", self._n_compiled)
            else:
                LOGGER.warning(
                    "Compiling kernels for their first use, which takes some seconds for a component and solver, for a "
                    "parser more; the next process finds them. `spacy ssvm warmup` compiles all of them ahead"
                )
        LOGGER.info("Compiling %s", name)
        self._n_compiled += 1


announce = _Announcer()
