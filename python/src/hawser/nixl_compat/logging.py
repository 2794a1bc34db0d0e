# Copyright The Hawser authors
# SPDX-License-Identifier: Apache-2.0

"""Loggers below ``nixl``, whose level is that of ``NIXL_LOG_LEVEL``."""

from __future__ import annotations

import logging
import logging.config
import os

_LEVELS = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}


_FORMAT = "%(asctime)s NIXL %(levelname)-7s %(filename)s:%(lineno)d %(message)s"

LOGGING_CONFIG = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"simpleFormatter": {"format": _FORMAT}},
    "handlers": {"consoleHandler": {"class": "logging.StreamHandler", "level": "INFO", "formatter": "simpleFormatter"}},
    "loggers": {"nixl": {"level": "INFO", "handlers": ["consoleHandler"], "propagate": False}},
}
"""What :func:`setup_logging` sets up, for ``logging.config.dictConfig``."""


def set_log_level_by_env(nixl_logger: logging.Logger) -> None:
    """Sets a logger's level to that of NIXL_LOG_LEVEL, if it is one."""
    name = os.environ.get("NIXL_LOG_LEVEL", "").upper()
    if not name:
        return
    if name in _LEVELS:
        nixl_logger.setLevel(_LEVELS[name])
    else:
        nixl_logger.warning("NIXL_LOG_LEVEL: %s is none of %s; the level stays", name, ", ".join(_LEVELS))


def setup_logging() -> None:
    """Gives the logger ``nixl`` a handler for the console, once, unless the program has done so."""
    root = logging.getLogger("nixl")
    if not root.handlers:
        logging.config.dictConfig(LOGGING_CONFIG)
        set_log_level_by_env(root)


def get_logger(name: str = "nixl") -> logging.Logger:
    """A logger below ``nixl``."""
    setup_logging()
    return logging.getLogger(name if name.split(".")[0] == "nixl" else f"nixl.{name.rsplit('.', 1)[-1]}")
