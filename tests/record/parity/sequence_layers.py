"""Random cases of layers of sequences: embeddings, recurrent layers, attention, transformers, einsum. Part of generate.py."""
import torch
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence

from spec import Case, Drawn, a_dtype, batch, layout, normal, pick, uniform

DOUBLES = [torch.float32, torch.float32, torch.float64]


def embedding(rng):
    rows, columns, dtype = rng.choice([1, 2, 5, 17]), rng.choice([1, 3, 8]), a_dtype(rng)
    options = {"num_embeddings": rows, "embedding_dim": columns,
               **pick(rng, padding_idx=[0, -1, rows - 1, rows if rng.random() < 0.05 else 0], scale_grad_by_freq=[True, False])}
    if rng.random() < 0.25:
        options |= {"max_norm": rng.choice([0.5, 1.0, 3.0]), **pick(rng, norm_type=[1.0, 2.0, 3.0])}
    index = torch.randint(rows, [batch(rng) for _ in range(rng.randint(0, 3))])
    if index.numel() and rng.random() < 0.04:
        index.view(-1)[0] = rng.choice([rows, -1])
    return Case("Embedding", options, {"0": index if rng.random() < 0.7 else index.int()}, dtype=dtype)


def embedding_bag(rng):
    rows, columns, dtype = rng.choice([2, 5, 17]), rng.choice([1, 3, 8]), a_dtype(rng, DOUBLES)
    options = {"num_embeddings": rows, "embedding_dim": columns,
               **pick(rng, mode=["sum", "mean", "max"], padding_idx=[0, -1, rows - 1], scale_grad_by_freq=[True, False])}
    if rng.random() < 0.15:
        options |= {"max_norm": rng.choice([0.5, 1.0]), **pick(rng, norm_type=[1.0, 2.0])}
    inputs = {}
    if rng.random() < 0.4:
        index = torch.randint(rows, [batch(rng), rng.randint(0 if rng.random() < 0.2 else 1, 5)])
    else:
        count = rng.randint(0, 9)
        index = torch.randint(rows, [count])
        offsets = [0] + sorted(rng.randint(0, count) for _ in range(rng.randint(0, 4)))
        if rng.random() < 0.3:
            options["include_last_offset"] = True
            offsets = offsets + [count]
        inputs["offsets"] = torch.tensor(offsets)
    if rng.random() < 0.2:
        index = index.int()
        inputs = {k: t.int() for k, t in inputs.items()}
    if options.get("mode") == "sum" and rng.random() < 0.5 or rng.random() < 0.03:
        inputs["per_sample_weights"] = normal(rng, index.shape, dtype)
    return Case("EmbeddingBag", options, {"0": index, **inputs}, dtype=dtype,
                call=lambda m, t: m(t["0"], t.get("offsets"), t.get("per_sample_weights")))


def recurrent(rng):
    kind, dtype = rng.choice(["RNN", "LSTM", "LSTM", "GRU"]), a_dtype(rng, DOUBLES)
    i, h, layers = rng.choice([1, 3, 5, 8]), rng.choice([1, 2, 4, 7, 16]), rng.choice([1, 1, 2, 3])
    options = {"input_size": i, "hidden_size": h, "num_layers": layers, **pick(rng, bias=[True, False], batch_first=[True, False],
                                                                                bidirectional=[True, False])}
    if kind == "RNN":
        options |= pick(rng, nonlinearity=["tanh", "relu"])
    if kind == "LSTM" and h > 1 and rng.random() < 0.35:
        options["proj_size"] = rng.randint(1, h - 1)
    length, n, unbatched = rng.randint(1, 6), batch(rng), rng.random() < 0.15
    first = options.get("batch_first", False)
    shape = [length, i] if unbatched else [n, length, i] if first else [length, n, i]
    packed = not unbatched and n > 0 and rng.random() < 0.3
    if rng.random() < 0.03 and not packed:  # of packed ones PyTorch writes outside of its memory
        shape[-1] += 1
    inputs = {"0": normal(rng, shape, dtype)}
    if rng.random() < 0.5:
        states = [layers * (2 if options.get("bidirectional") else 1)] + ([] if unbatched else [n])
        if rng.random() < 0.04 and not packed:  # then PyTorch takes some that are too many
            states[0] += 1
        inputs["h"] = normal(rng, states + [options.get("proj_size", h)], dtype)
        if kind == "LSTM":
            inputs["c"] = normal(rng, states + [h], dtype)
    words = {}
    if packed:
        lengths = [rng.randint(1, length) for _ in range(n)]
        ordered = rng.random() < 0.5
        words = {"lengths": sorted(lengths, reverse=True) if ordered else lengths, "enforce_sorted": ordered}

    def call(m, t):
        x = t["0"]
        if packed:
            x = pack_padded_sequence(x, torch.tensor(words["lengths"]), batch_first=first, enforce_sorted=ordered)
        hx = (t["h"], t["c"]) if "c" in t else t.get("h")
        out, states = m(x, hx)
        return ([out.data, out.batch_sizes] if packed else out), states
    # Of rounded numbers, a slope may be 1 here and 0 there.
    sharp = Drawn.narrow and options.get("nonlinearity") == "relu"
    return Case(kind, options, inputs, call, dtype=dtype, words=words, differentiable=not sharp)


def cell(rng):
    kind, dtype = rng.choice(["RNNCell", "LSTMCell", "GRUCell"]), a_dtype(rng, DOUBLES)
    i, h = rng.choice([1, 3, 8]), rng.choice([1, 4, 7])
    options = {"input_size": i, "hidden_size": h, **pick(rng, bias=[True, False])}
    if kind == "RNNCell":
        options |= pick(rng, nonlinearity=["tanh", "relu"])
    lead = [] if rng.random() < 0.2 else [batch(rng)]
    inputs = {"0": normal(rng, lead + [i + (rng.random() < 0.03)], dtype)}
    if rng.random() < 0.7:
        inputs["h"] = normal(rng, lead + [h + (rng.random() < 0.03)], dtype)
        if kind == "LSTMCell":
            inputs["c"] = normal(rng, lead + [h], dtype)
    return Case(kind, options, inputs, lambda m, t: m(t["0"], (t["h"], t["c"]) if "c" in t else t.get("h")), dtype=dtype)


def a_mask(rng, shape, dtype, leave=True):
    """Bools, true of what is left out, or numbers; never of everything."""
    t = torch.rand(shape) < 0.3
    if t.numel():
        t[..., 0] = False
    if not leave:
        t = ~t
    if rng.random() < 0.5:
        return t
    return torch.randn(shape).to(dtype) if rng.random() < 0.5 else torch.zeros(shape, dtype=dtype).masked_fill(t if leave else ~t, float("-inf"))


def multihead_attention(rng):
    dtype, heads = a_dtype(rng, DOUBLES), rng.choice([1, 2, 3])
    embed = heads * rng.choice([1, 2, 4, 8])
    options = {"embed_dim": embed, "num_heads": heads, **pick(rng, bias=[True, False], add_bias_kv=[True, False], add_zero_attn=[True, False],
                                                              kdim=[None, 5], vdim=[None, 3], batch_first=[True, False])}
    n, l, s = max(batch(rng), 1), rng.randint(1, 5), rng.randint(1, 5)
    unbatched = rng.random() < 0.12
    first = options.get("batch_first", False)
    shape = lambda length, size: [length, size] if unbatched else [n, length, size] if first else [length, n, size]
    same = not options.get("kdim") and not options.get("vdim") and rng.random() < 0.4
    inputs = {"0": normal(rng, shape(l, embed), dtype)}
    if not same:
        inputs |= {"1": normal(rng, shape(s, options.get("kdim") or embed), dtype), "2": normal(rng, shape(s, options.get("vdim") or embed), dtype)}
    else:
        s = l
    words = pick(rng, need_weights=[True, False], average_attn_weights=[True, False])
    if rng.random() < 0.4:
        inputs["attn_mask"] = a_mask(rng, [l, s] if rng.random() < 0.6 else [n * heads if not unbatched else heads, l, s + (rng.random() < 0.05)], dtype)
    if rng.random() < 0.3:
        inputs["key_padding_mask"] = a_mask(rng, [s] if unbatched else [n, s], dtype)
    # (With more keys than the mask has, it depends on need_weights in PyTorch who sees them.)
    if same and rng.random() < 0.15 and not options.get("add_bias_kv") and not options.get("add_zero_attn"):
        inputs["attn_mask"] = torch.ones(l, l, dtype=torch.bool).triu(1)
        words["is_causal"] = True

    def call(m, t):
        masks = {k: t[k] for k in ("attn_mask", "key_padding_mask") if k in t}
        return m(t["0"], t.get("1", t["0"]), t.get("2", t["0"]), **masks, **words)
    training = rng.random() < 0.5
    return Case("MultiheadAttention", options, inputs, call, dtype=dtype, words=words, training=training,
                differentiable=training or rng.random() < 0.5)


def transformer_layer(rng):
    dtype, heads = a_dtype(rng, DOUBLES), rng.choice([1, 2, 4])
    d = max(heads * rng.choice([1, 2, 4]), 4)  # norms of two numbers lose most digits
    decoder = rng.random() < 0.45
    options = {"d_model": d, "nhead": heads, "dim_feedforward": rng.choice([1, 5, 16]), "dropout": 0.0,
               **pick(rng, activation=["relu", "gelu"], layer_norm_eps=[1e-5, 0.1], batch_first=[True, False], norm_first=[True, False],
                      bias=[True, False])}
    n, l, s, unbatched = max(batch(rng), 1), rng.randint(1, 5), rng.randint(1, 5), rng.random() < 0.12
    first = options.get("batch_first", False)
    shape = lambda length: [length, d] if unbatched else [n, length, d] if first else [length, n, d]
    inputs, masks = {"0": normal(rng, shape(l), dtype)}, {}
    if decoder:
        inputs["1"] = normal(rng, shape(s), dtype)
        sizes = {"tgt_mask": [l, l], "memory_mask": [l, s], "tgt_key_padding_mask": [n, l], "memory_key_padding_mask": [n, s]}
    else:
        sizes = {"src_mask": [l, l], "src_key_padding_mask": [n, l]}
    training = rng.random() < 0.5
    differentiable = training or rng.random() < 0.5
    if Drawn.narrow:
        options["activation"] = "gelu"  # of rounded numbers, a slope of relu may be 1 here and 0 there
    for k, size in sizes.items():
        if rng.random() < 0.3:
            masks[k] = a_mask(rng, size[1:] if unbatched and "padding" in k else size, dtype)
            if not differentiable and masks[k].is_floating_point():
                masks[k] = masks[k] < 0  # what PyTorch does without gradients makes NaN of masks of numbers
                masks[k][..., 0] = False
    return Case("TransformerDecoderLayer" if decoder else "TransformerEncoderLayer", options, {**inputs, **masks},
                lambda m, t: m(*(t[k] for k in inputs), **{k: t[k] for k in masks}), dtype=dtype, training=training,
                differentiable=differentiable)


def attention(rng):
    dtype = a_dtype(rng)
    lead = [batch(rng) for _ in range(rng.choice([0, 1, 1, 2, 2]))]
    l, s, e, v = (rng.choice([1, 2, 3, 5, 17, 33]) for _ in range(4))
    words = pick(rng, is_causal=[True, False], scale=[0.3, 1.0])
    heads = list(lead)
    if len(lead) == 2 and rng.random() < 0.4:
        few = rng.choice([1, 2])
        heads, lead = [lead[0], few * rng.choice([1, 2, 3])], [lead[0], few]
        words["enable_gqa"] = True
    if rng.random() < 0.3:
        v = e
    inputs = {"0": normal(rng, heads + [l, e], dtype), "1": normal(rng, lead + [s, e], dtype), "2": normal(rng, lead + [s, v], dtype)}
    if rng.random() < 0.4:
        words.pop("is_causal", None) if rng.random() < 0.95 else None
        shape = rng.choice([[l, s], heads + [l, s], [1, s], ([1] * len(heads)) + [l, s]])
        inputs["attn_mask"] = a_mask(rng, shape, dtype, leave=False)
    # Of bfloat16, what cancels in a gradient leaves few digits, here and there.
    rounded = dtype == torch.bfloat16 and not Drawn.narrow
    return Case("scaled_dot_product_attention", inputs=inputs, dtype=dtype, function=True, words=words, differentiable=not rounded,
                call=lambda m, t: F.scaled_dot_product_attention(t["0"], t["1"], t["2"], t.get("attn_mask"), **words))


def einsum(rng):
    letters = rng.sample("abcijkXY", rng.randint(1, 5))
    sizes = {c: rng.choice([1, 2, 3, 4]) for c in letters}
    if rng.random() < 0.05:
        sizes[letters[0]] = 0
    dots = [rng.choice([1, 2, 3]) for _ in range(rng.randint(1, 2))] if rng.random() < 0.3 else []
    terms, tensors, dtype = [], {}, a_dtype(rng, DOUBLES)
    for k in range(rng.randint(1, 4)):
        mine = [rng.choice(letters) if rng.random() < 0.08 else c for c in rng.sample(letters, rng.randint(0, len(letters)))]
        shape = [sizes[c] if rng.random() < 0.97 else 1 for c in mine]
        term = "".join(mine)
        if dots and rng.random() < 0.7:
            at = rng.randint(0, len(mine))
            some = [1 if rng.random() < 0.2 else n for n in dots[rng.randrange(len(dots)):]]
            term, shape = term[:at] + "..." + term[at:], shape[:at] + some + shape[at:]
        terms.append(term)
        tensors[str(k)] = normal(rng, shape, dtype)
    equation = ",".join(terms)
    if rng.random() < 0.75:
        there = [c for c in letters if c in equation]
        out = rng.sample(there, rng.randint(0, len(there)))
        if "..." in equation and rng.random() < 0.9:
            out.insert(rng.randint(0, len(out)), "...")
        if rng.random() < 0.03:
            out.append("z")
        equation += "->" + "".join(out)
    return Case("einsum", inputs=tensors, dtype=dtype, function=True, words={"equation": equation or "-"},
                call=lambda m, t: torch.einsum(equation, *t.values()))


CASES = [embedding, embedding_bag, embedding_bag, recurrent, recurrent, recurrent, cell, multihead_attention, multihead_attention,
         transformer_layer, transformer_layer, attention, attention, einsum, einsum]
