"""Dependency trees of a sentence, projective or not: decoding and sums over scores of arcs and of pairs of arcs.

A sentence of n tokens has the nodes 0 … n. Node 0 is the root; a token whose head is 0 is a root of the sentence.
"""
