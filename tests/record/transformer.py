#!/usr/bin/env python3
"""Results and gradients of attention layers and transformers.

Inputs and parameters are not recorded: both sides make them with the same formula, in float64.
"""
import torch
from cases import values, write
from torch import nn

WHAT = "Attention layers and transformers: results NAME.outN, gradients of inputs .ginN and of some parameters .g.KEY"


def made(shape, seed):
    n = torch.Size(shape).numel()
    return (torch.arange(n, dtype=torch.float64) * 0.37 + seed).sin().mul(0.6).reshape(shape)


def bools(shape, seed):
    return made(shape, seed) > 0.35


E, H, L, S, N = 6, 2, 4, 5, 3
causal = nn.Transformer.generate_square_subsequent_mask
q, k, v = (L, N, E), (S, N, E), (S, N, E)
bf = {"batch_first": True}
state = {}


def record(name, layer, inputs, call, **options):
    layer = layer.double()
    for i, p in enumerate(layer.parameters()):
        p.data = made(p.shape, i)
    inputs = [made(s, 20 + i).requires_grad_() for i, s in enumerate(inputs)]
    torch.manual_seed(3)
    result = call(layer, inputs, options)
    results = [r for r in (result if isinstance(result, tuple) else (result,)) if r is not None]
    sum((t * made(t.shape, 30 + i)).sum() for i, t in enumerate(results)).backward()
    for i, t in enumerate(results):
        state[f"{name}.out{i}"] = t
    for i, t in enumerate(inputs):
        state[f"{name}.gin{i}"] = t.grad
    for i, (key, p) in enumerate(layer.named_parameters()):
        if name.startswith("mha") or i % 5 == 0:
            state[f"{name}.g.{key}"] = p.grad


each = lambda m, x, o: m(*x, **o)
same = lambda m, x, o: m(x[0], x[0], x[0], **o)
pair = lambda m, x, o: m(x[0], x[1], x[1], **o)
mha = lambda **o: nn.MultiheadAttention(E, H, **o)
record("mha", mha(), [q, k, v], each)
record("mha_self", mha(**bf), [(N, L, E)], same, average_attn_weights=False)
record("mha_self_fast", mha(**bf), [(N, L, E)], same, need_weights=False)
record("mha_pair", mha(bias=False), [q, k], pair, need_weights=False)
record("mha_unbatched", mha(**bf), [(L, E), (S, E)], pair, key_padding_mask=bools((S,), 3))
record("mha_unbatched_fast", mha(), [(L, E)], same, need_weights=False, attn_mask=bools((H, L, L), 3))
record("mha_mask", mha(), [q, k, v], each, attn_mask=bools((L, S), 4), key_padding_mask=bools((N, S), 2))
record("mha_mask_fast", mha(), [q, k, v], each, attn_mask=bools((L, S), 1), key_padding_mask=bools((N, S), 3), need_weights=False)
record("mha_mask3", mha(**bf), [(N, L, E), (N, S, E)], pair, attn_mask=made((N * H, L, S), 1))
record("mha_mask3_fast", mha(**bf), [(N, L, E), (N, S, E)], pair, attn_mask=made((N * H, L, S), 1), need_weights=False)
record("mha_causal", mha(**bf), [(N, L, E)], same, attn_mask=causal(L).double(), is_causal=True, need_weights=False)
record("mha_added", mha(add_bias_kv=True, add_zero_attn=True), [q, k, v], each, attn_mask=bools((L, S), 1), key_padding_mask=bools((N, S), 3))
record("mha_added_fast", mha(add_bias_kv=True, add_zero_attn=True, **bf), [(N, L, E)], same, need_weights=False)
record("mha_dims", mha(kdim=3, vdim=7), [q, (S, N, 3), (S, N, 7)], each)
record("mha_dropout", mha(dropout=0.5), [q, k, v], each)
record("mha_dropout_fast", mha(dropout=0.5), [q, k, v], each, need_weights=False)

tel = lambda **o: nn.TransformerEncoderLayer(E, H, 8, **o)
tdl = lambda **o: nn.TransformerDecoderLayer(E, H, 8, **o)
record("encoder_layer", tel(dropout=0.0), [q], each, src_mask=causal(L).double(), is_causal=True, src_key_padding_mask=None)
record("encoder_layer_first", tel(dropout=0.0, norm_first=True, activation="gelu", bias=False, **bf), [(N, L, E)], each, src_key_padding_mask=bools((N, L), 3))
record("encoder_layer_dropout", tel(), [(L, E)], each)
record("decoder_layer", tdl(dropout=0.0), [q, k], each, tgt_mask=bools((L, L), 1), memory_key_padding_mask=bools((N, S), 3))
record("decoder_layer_first", tdl(dropout=0.0, norm_first=True, **bf), [(N, L, E), (N, S, E)], each)
record("decoder_layer_dropout", tdl(), [q, k], each)
record("encoder", nn.TransformerEncoder(tel(dropout=0.0), 2, nn.LayerNorm(E)), [q], each, mask=causal(L).double())
record("encoder_plain", nn.TransformerEncoder(tel(dropout=0.0, **bf), 2), [(N, L, E)], each, src_key_padding_mask=bools((N, L), 3))
record("decoder", nn.TransformerDecoder(tdl(dropout=0.0), 2, nn.LayerNorm(E)), [q, k], each, tgt_mask=causal(L).double(), memory_mask=bools((L, S), 1))
record("transformer", nn.Transformer(E, H, 2, 2, 8, dropout=0.0), [k, q], each, tgt_mask=causal(L).double(), src_key_padding_mask=bools((N, S), 3))
write("nn/cases/transformer", [values(state)], WHAT)
