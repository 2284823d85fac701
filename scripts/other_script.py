# SPDX-License-Identifier: BSD-3-Clause
"""The functions of one script for another: they have no .py at their ends, by which Python would find
them."""
import importlib.machinery
import importlib.util
import os


def load(name):
    """The script scripts/name as a module; it is not run as a program."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
