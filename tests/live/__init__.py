"""Live runs with real traffic: real namespaces, real programs.

A package, so that its conftest and that of the folder above are two modules.
"""
