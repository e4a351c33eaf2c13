#!/usr/bin/env python3
"""Results and gradients of recurrent layers.

Inputs and parameters are not recorded: both sides make them with the same formula, in float64.
"""
import torch
from cases import values, write
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

WHAT = "Recurrent layers: results NAME.outN, gradients of input .gin, state .gh and .gc, and parameters .g.KEY"


def made(shape, seed):
    n = torch.Size(shape).numel()
    return (torch.arange(n, dtype=torch.float64) * 0.37 + seed).sin().mul(0.8).reshape(shape)


# name, class, sizes, options, input shape, whether a state is given, lengths if packed.
CASES = [
    ("rnn", nn.RNN, (3, 4), {}, (5, 2, 3), False, None),
    ("rnn_relu", nn.RNN, (3, 4), {"nonlinearity": "relu", "num_layers": 2}, (5, 2, 3), True, None),
    ("rnn_both", nn.RNN, (3, 4), {"bidirectional": True, "bias": False}, (5, 2, 3), True, None),
    ("lstm", nn.LSTM, (3, 4), {"num_layers": 2}, (5, 2, 3), True, None),
    ("lstm_plain", nn.LSTM, (3, 4), {"bias": False}, (5, 2, 3), False, None),
    ("lstm_both", nn.LSTM, (3, 4), {"num_layers": 2, "batch_first": True, "bidirectional": True}, (2, 5, 3), True, None),
    ("lstm_projected", nn.LSTM, (3, 4), {"num_layers": 2, "bidirectional": True, "proj_size": 2}, (5, 2, 3), True, None),
    ("lstm_unbatched", nn.LSTM, (3, 4), {"batch_first": True}, (5, 3), True, None),
    ("lstm_dropout", nn.LSTM, (3, 4), {"num_layers": 3, "dropout": 0.5}, (5, 2, 3), False, None),
    ("gru", nn.GRU, (3, 4), {"num_layers": 2}, (5, 2, 3), True, None),
    ("gru_both", nn.GRU, (3, 4), {"bidirectional": True, "bias": False, "batch_first": True}, (2, 5, 3), False, None),
    ("gru_unbatched", nn.GRU, (3, 4), {"bidirectional": True}, (5, 3), True, None),
    ("rnn_packed", nn.RNN, (3, 4), {"bidirectional": True}, (5, 4, 3), True, [5, 3, 3, 1]),
    ("lstm_packed", nn.LSTM, (3, 4), {"num_layers": 2, "bidirectional": True}, (5, 4, 3), True, [2, 5, 1, 4]),
    ("lstm_packed_projected", nn.LSTM, (3, 4), {"bidirectional": True, "proj_size": 3}, (5, 3, 3), True, [5, 2, 4]),
    ("gru_packed", nn.GRU, (3, 4), {"num_layers": 2, "bidirectional": True}, (5, 4, 3), True, [2, 5, 5, 4]),
    ("gru_packed_zero", nn.GRU, (3, 4), {}, (5, 4, 3), False, [2, 5, 5, 4]),
    ("rnn_cell", nn.RNNCell, (3, 4), {}, (2, 3), True, None),
    ("rnn_cell_relu", nn.RNNCell, (3, 4), {"nonlinearity": "relu", "bias": False}, (3,), True, None),
    ("lstm_cell", nn.LSTMCell, (3, 4), {}, (2, 3), True, None),
    ("lstm_cell_plain", nn.LSTMCell, (3, 4), {"bias": False}, (3,), False, None),
    ("gru_cell", nn.GRUCell, (3, 4), {}, (2, 3), True, None),
    ("gru_cell_plain", nn.GRUCell, (3, 4), {"bias": False}, (3,), False, None),
]

state = {}
for name, cls, sizes, options, shape, given, lengths in CASES:
    layer = cls(*sizes, **options, dtype=torch.float64)
    for i, p in enumerate(layer.parameters()):
        p.data = made(p.shape, i)
    x = made(shape, 20).requires_grad_()
    h = c = None
    cell = "Cell" in cls.__name__
    if given:
        if cell:
            hs = cs = (*shape[:-1], 4)
        else:
            n = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
            batch = () if len(shape) == 2 else (shape[0 if options.get("batch_first") else 1],)
            hs, cs = (n, *batch, options.get("proj_size", 0) or 4), (n, *batch, 4)
        h, c = made(hs, 21).requires_grad_(), made(cs, 22).requires_grad_()
    hx = None if not given else (h, c) if cls in (nn.LSTM, nn.LSTMCell) else h
    torch.manual_seed(3)
    source = pack_padded_sequence(x, lengths, enforce_sorted=False) if lengths else x
    result = layer(source, hx)
    flat = []
    def flatten(r):
        if isinstance(r, torch.nn.utils.rnn.PackedSequence):
            flat.append(r.data)
        elif isinstance(r, torch.Tensor):
            flat.append(r)
        else:
            [flatten(one) for one in r]
    flatten(result)
    sum((t * made(t.shape, 30 + i)).sum() for i, t in enumerate(flat)).backward()
    for i, t in enumerate(flat):
        state[f"{name}.out{i}"] = t.detach()
    state[f"{name}.gin"] = x.grad
    if given:
        state[f"{name}.gh"] = h.grad
        if c.grad is not None:
            state[f"{name}.gc"] = c.grad
    for key, p in layer.named_parameters():
        state[f"{name}.g.{key}"] = p.grad
write("nn/cases/recurrent", [values(state)], WHAT)
