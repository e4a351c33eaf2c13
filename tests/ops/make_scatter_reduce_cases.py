"""What PyTorch gives for scatter_reduce and its gradients, into scatter_reduce_cases.h."""
import pathlib

import torch

SELVES = {"plain": [1.0, 2.0, 3.0, 4.0], "ties and zeros": [2.0, 0.0, 3.0, 0.0], "more": [0.0, 4.0, 3.0, 5.0]}
SOURCES = {"plain": [2.0, 3.0, 4.0, 5.0], "ties and zeros": [2.0, 2.0, 0.0, 0.0], "more": [0.0, 0.0, 4.0, 5.0]}
INDEX = torch.tensor([0, 0, 1, 3])

rows = []
for reduce in ("sum", "prod", "mean", "amax", "amin"):
    for include_self in (True, False):
        for name in SELVES:
            # PyTorch shares the gradient of an extreme with an element that does not take part.
            if reduce.startswith("am") and not include_self and name != "plain":
                continue
            x = torch.tensor(SELVES[name], dtype=torch.float64, requires_grad=True)
            src = torch.tensor(SOURCES[name], dtype=torch.float64, requires_grad=True)
            y = x.scatter_reduce(0, INDEX, src, reduce, include_self=include_self)
            (y * torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)).sum().backward()
            numbers = ",\n     ".join(
                "{" + ", ".join(map(repr, t.tolist())) + "}" for t in (x, src, y, x.grad, src.grad))
            rows.append(f'    {{"{reduce}", {str(include_self).lower()},\n     {numbers}}},')
text = "// Made by make_scatter_reduce_cases.py.\n#pragma once\n\n"
text += "inline constexpr struct {\n  const char* reduce;\n  bool include_self;\n"
text += "  double self[4], src[4], result[4], self_grad[4], src_grad[4];\n} kScatterReduceCases[] = {\n"
text += "\n".join(rows) + "\n};\n"
pathlib.Path(__file__).with_name("scatter_reduce_cases.h").write_text(text)
