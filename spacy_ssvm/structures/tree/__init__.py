"""Dependency trees of a sentence: decoders over scores of arcs and of pairs of arcs, projective or not.

A sentence of n tokens has the nodes 0 … n; node 0 is the root, and a token whose head is 0 is a root of the sentence.
"""
