#!/usr/bin/env python3
"""einsum of known numbers, and its gradients, for the equations and shapes that are recorded."""
import torch
from cases import ints, line, rows, write
from sums import known_gradient, known_numbers, weighted_sum

COLUMNS = "einsum: equation, shapes of the operands, shape of the result, its sum, sums of the operands' gradients"


def case(equation, shapes):
    operands = [known_numbers(ints(shape), 7 * i).requires_grad_() for i, shape in enumerate(shapes.split(";"))]
    out = torch.einsum(equation, operands)
    out.backward(known_gradient(out.shape))
    return line(equation, shapes, out.shape, weighted_sum(out), [weighted_sum(operand.grad) for operand in operands])


write("ops/cases/einsum", [[case(*row[:2]) for row in rows("ops/cases/einsum")]], COLUMNS)
