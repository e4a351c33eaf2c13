"""Inputs by formula, and results as one weighted sum: those of tests/support/recorded_input.h, and of
tests/ops/known_numbers.h, whose numbers no rounding touches."""
import math

import torch


def given(shape, dtype=torch.float64, shift=0.0):
    numbers = torch.arange(math.prod(shape), dtype=torch.float64)
    return ((numbers * 1.37 + 0.2 + shift).sin() * 2 + shift).reshape(shape).to(dtype)


def summed(tensor):
    if tensor is None:
        return None
    weights = (torch.arange(tensor.numel(), dtype=torch.float64) * 0.7 + 0.3).sin()
    return (tensor.detach().double().reshape(-1) * weights).sum().item()


def known_numbers(shape, salt=0):
    """Sixteenths between -3 and 3.3125, with some equals among them."""
    places = torch.arange(math.prod(shape))
    return (((places * 7919 + 13 + salt) % 101).double() / 16 - 3).view(shape)


def known_gradient(shape):
    return ((torch.arange(math.prod(shape)) % 5 + 1).double() / 4).view(shape)


def weighted_sum(tensor):
    flat = tensor.detach().double().reshape(-1)
    return (flat * ((torch.arange(flat.numel()) % 7 + 1).double() / 8)).sum().item()
