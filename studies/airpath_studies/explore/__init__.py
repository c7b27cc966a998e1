"""Explorations: free choices tried together, chosen by one half of a paper's values, tested by the other."""
