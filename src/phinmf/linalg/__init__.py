"""Orthogonal matrices, line searches and products of M×M matrices."""
