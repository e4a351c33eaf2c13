#!/usr/bin/env python3
"""Checks that includes follow the layers of docs/architecture.md.

A file of src/ includes its own folder and those below it; a public header includes public headers only,
and those of its own layer or below. Prints every include that does not, and exits 1 if there is one.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What each layer may include besides itself.
BELOW = {
    "base": [],
    "kernels": ["base"],
    "core": ["base", "kernels"],
    "io": ["base", "kernels", "core"],
    "dispatch": ["base", "kernels", "core"],
    "ops": ["base", "kernels", "core", "dispatch"],
    "autograd": ["base", "kernels", "core", "dispatch", "ops"],
    "nn": ["base", "kernels", "core", "dispatch", "ops", "autograd"],
    "optim": ["base", "kernels", "core", "dispatch", "ops", "autograd", "nn"],
    "load": ["base", "kernels", "core", "io", "dispatch", "ops", "autograd", "nn"],
    "all": ["base", "kernels", "core", "io", "dispatch", "ops", "autograd", "nn", "optim", "load"],
}

# The layer that implements each public header. Every header must be named here.
HEADER_LAYER = {
    "base": "api default_dtype device dtype error float8 function_names half ref scalar shape threads type_info version warning watch",
    "core": "detail/tensor_arithmetic detail/tensor_methods detail/tensor_reductions autograd body device_backend flattened generator layout packed_weights printing removable_handle saved_tensor state_dict storage tensor uninitialized value",
    "io": "checkpoint convert key_map map_location read_limits save",
    "dispatch": "amp custom_op gradient op_call op_info wrapper detail/autocast detail/dispatcher detail/op_arguments detail/recorded_node",
    "ops": "activation activation_ops arithmetic arithmetic_ops attention convolution counting einsum embedding_bag factories folding functional fused geometry grid_sampling indexing interpolation loss loss_ops matmul normalization ops padding picking pooling random rearranging reductions selection sorting triangles",
    "autograd": "backward",
    "nn": "nn/activation nn/batchnorm nn/callable nn/clip_grad nn/containers nn/conv nn/conversion nn/dropout nn/embedding nn/embedding_bag nn/flatten nn/fold nn/guard nn/hooks nn/init nn/lazy nn/lazy_layers nn/linear nn/load_state_dict nn/loss nn/module nn/multihead_attention nn/normalization nn/packed_sequence nn/padding nn/parameter nn/pixel_shuffle nn/pooling nn/replicate nn/rnn nn/rnn_cells nn/slots nn/transformer nn/upsampling",
    "optim": "optim/adagrad optim/adam optim/cosine_annealing optim/cyclic_lr optim/grad_scaler optim/lr_scheduler optim/named_values optim/one_cycle optim/optimizer optim/reduce_on_plateau optim/rmsprop optim/scheduler_state optim/sequential_lr optim/sgd",
    "load": "load_into",
    "all": "tenon",
}
LAYER_OF = {f"tenon/{name}.h": layer for layer, names in HEADER_LAYER.items() for name in names.split()}

INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def problems():
    for path in sorted(ROOT.glob("include/**/*.h")) + sorted(ROOT.glob("src/**/*.[hc]*")):
        if path.suffix not in (".h", ".cpp", ".cu"):
            continue
        public = path.is_relative_to(ROOT / "include")
        name = str(path.relative_to(ROOT / ("include" if public else "src")))
        layer = LAYER_OF.get(name) if public else name.split("/")[0]
        if layer is None:
            yield f"{name}: not in the table of public headers"
            continue
        for included in INCLUDE.findall(path.read_text()):
            if "/" not in included and not included.endswith(".h"):
                continue  # the standard library
            target = LAYER_OF.get(included, included.split("/")[0])
            if not public and target not in BELOW and not included.startswith("tenon/"):
                continue  # the system's, or a library's: sources may
            if public and not included.startswith("tenon/"):
                yield f"{name} is public and includes {included}, which is not"
            elif target != layer and target not in BELOW[layer]:
                yield f"{name} ({layer}) includes {included} ({target})"


def main():
    found = list(problems())
    for line in found:
        print(f"check_layers: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
