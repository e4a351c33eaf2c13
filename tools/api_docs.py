#!/usr/bin/env python3
"""Writes docs/api.md: every layer's constructor and every function of layers, from the headers.

    tools/api_docs.py            writes it
    tools/api_docs.py --check    exits 1 if it is not what the headers say
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "api.md"

# Headers of functions, in the order of the document. Layers are in include/tenon/nn.
FUNCTIONS = ["ops/functional", "ops/convolution", "ops/pooling", "ops/fold", "ops/normalization", "ops/activation", "ops/attention",
             "ops/loss", "ops/padding", "ops/interpolation", "ops/embedding_bag", "ops/grid_sample", "ops/reductions", "ops/where",
             "ops/ops", "ops/scatter", "ops/sort", "ops/matmul", "ops/einsum", "ops/tril", "ops/flip", "ops/one_hot", "ops/cdist",
             "ops/factories", "ops/random", "amp", "nn/packed_sequence", "nn/clip_grad"]
NOT_LAYERS = {"callable", "conversion", "hooks", "init", "lazy", "load_state_dict", "module", "named_values", "optimizer", "parameter", "scheduler_state",
              "slots"}
SCHEDULERS = ["lr_scheduler", "cosine_annealing", "one_cycle", "reduce_on_plateau", "sequential_lr"]

# What a caller has to know of a header beyond its constructors.
NOTES = {"pooling": ["A call gives the values alone, whatever `return_indices` says: `auto [y, indices] = pool.with_indices(x);` gives both, and",
                     "`unpool(y, indices)`, or `unpool(y, indices, output_size)`, of a `MaxUnpool` puts them back."],
         "transformer": ["`activation` is \"relu\", \"gelu\", a function of a tensor, or a layer: `.activation = nn::make<nn::GELU>()`."]}

COMMENT = re.compile(r"//[^\n]*")
STRUCT = re.compile(r"\n( *)struct (?:TENON_API )?(\w*Options?) \{(.*?)\n\1\};", re.S)
ALIAS = re.compile(r"\busing\s+(\w*Options?)\s*=\s*([\w:]+);")
# A constructor for one type alone: template <std::same_as<T> V> Name(const V& list).
ONLY = re.compile(r"template <std::same_as<((?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*)> (\w+)>(\n\s*(?:explicit )?\w+\()([^)]*)")
FIELD = re.compile(r"([\w:<>, ]+?\*?)\s+(\w+)\s*(?:=\s*(.*?))?;", re.S)
CLASS = re.compile(r"\n(?:template <[^>]*>\n)?class (?:TENON_API )?(\w+)(?: final)?\s*:\s*public ([^{;]*?)\{(.*?)\n\};", re.S)
FUNCTION = re.compile(r"\n(?:TENON_API|inline|template <class O = (\w+)>\nOnlyOf<O, \w+,)\s+([\w:<>, ]+?[&>\w])\s+(\w+)(?=\()")


def squeezed(text):
    return re.sub(r"\s+", " ", text).strip()


def parenthesised(text, start):
    """What is between the parenthesis at `start` and the one that closes it."""
    depth = 0
    for i in range(start, len(text)):
        depth += text[i] == "("
        depth -= text[i] == ")"
        if depth == 0:
            return text[start + 1:i]
    return ""


def split_arguments(text):
    text = re.sub(r"\(&(\w+)\)\[(\w+)\]", r"[\2] \1", text).replace(" [", "[")  # a list in braces: const int (&sizes)[N]
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += c in "(<{"
        depth -= c in ")>}"
        if c == "," and depth == 0:
            out.append(text[start:i])
            start = i + 1
    return [squeezed(one) for one in out + [text[start:]] if one.strip()]


def plain_type(text):
    text = re.sub(r"\bconst\b\s*|&", "", text)
    return squeezed(text).replace("std::int64_t", "int").replace("std::string_view", "string").replace("std::string", "string").replace("std::", "")


class Headers:
    def __init__(self):
        self.options, self.aliases, self.texts, self.bases, self.own_options = {}, {}, {}, {}, {}
        for path in sorted((ROOT / "include").glob("tenon/**/*.h")):
            text = ONLY.sub(lambda m: m.group(3) + re.sub(rf"\b{m.group(2)}\b", m.group(1), m.group(4)), COMMENT.sub("", path.read_text()))
            self.texts[path] = text
            for indent, name, body in STRUCT.findall(text):
                if indent:
                    name = f"{path.stem}.{name}"  # of a class
                fields = []
                for kind, field, default in FIELD.findall(body):
                    if field == "by_name":
                        continue  # keeps lists of numbers from being taken for options
                    fields.append((plain_type(kind), field, squeezed(default or "")))
                self.options[("nn" if path.parent.name == "nn" else "") + name] = fields
            for name, target in ALIAS.findall(text):
                if name != "Options":
                    self.aliases[("nn" if path.parent.name == "nn" else "") + name] = target.split("::")[-1]
            for name, bases, body in CLASS.findall(text):
                self.bases[name] = re.findall(r"\w+", bases)
                used = re.search(r"using Options = ([\w:]+);", body)
                if used:
                    self.own_options[name] = used.group(1).split("::")[-1]

    def options_of(self, name):
        """The options of a class, which may be its base's."""
        if name in self.own_options:
            return self.own_options[name]
        found = (self.options_of(base) for base in self.bases.get(name, []) if base != name)
        return next((one for one in found if one), None)

    def fields(self, name, nn):
        for _ in range(4):
            for spelled in (["nn" + name] if nn else []) + [name]:
                if spelled in self.options:
                    return self.options[spelled]
                if spelled in self.aliases:
                    name = self.aliases[spelled]
                    break
        return []

    def braces(self, name, nn):
        shown = []
        for kind, field, default in self.fields(name, nn):
            if not default or default == "{}":
                if kind == "GivenDim":
                    shown.append(f".{field} = (int)")  # has to be given
                    continue
                default = f"({kind})" if kind.startswith("optional") or kind == "Tensor" else f"({kind}) {{}}"
            shown.append(f".{field} = {default}")
        return "{" + ", ".join(shown) + "}"

    def argument(self, text, nn=False):
        """An argument as a caller sees it: options are spelled out, others have their name."""
        declared, _, default = text.partition("=")
        words = declared.strip().split()
        name = words[-1].lstrip("&*").rstrip("_")
        kind = plain_type(" ".join(words[:-1])) if len(words) > 1 else plain_type(declared)
        last = kind.split("::")[-1].rstrip("&")
        if last.endswith(("Options", "Option")):
            return self.braces(last, nn)
        if name == kind or not name:
            return kind
        return f"{name}: {kind}" + (f" = {default.strip()}" if default.strip() else "")


def constructors(headers, stem, name, body):
    public = body.split(" protected:")[0].split(" private:")[0]
    own = headers.options_of(name)
    out = []
    for match in re.finditer(rf"\n  (?:explicit )?{name}(?=\()", public):
        arguments = split_arguments(parenthesised(public, match.end()))
        if len(arguments) == 1 and re.match(rf"const {name}\s*&", arguments[0]):
            continue
        if any("Ms>" in one or "..." in one for one in arguments):
            continue
        shown = []
        for one in arguments:
            if own and re.match(r"(const )?Options\b", one):
                one = one.replace("Options", own, 1)
            elif re.match(r"(const )?Options\b", one):
                one = one.replace("Options", f"{stem}.Options", 1)
            shown.append(headers.argument(one, True))
        out.append(f"{name}({', '.join(shown)})")
    return out


def document():
    headers = Headers()
    lines = ["# Layers and functions", "",
             "Written by `tools/api_docs.py` from the headers. Arguments that PyTorch has no default for are given in its order;",
             "all others are fields of one aggregate in braces, with its names and defaults. `Dims` takes a number or `{a, b}`.",
             "Where it says a type in parentheses instead of a value, nothing is the default. Most functions of a tensor are also its methods:",
             "`sum(x, {.dim = 1})` is `x.sum({.dim = 1})`.", "", "## Layers, `tenon::nn`", ""]
    optim = [path for path in sorted((ROOT / "include/tenon/optim").glob("*.h")) if path.stem not in SCHEDULERS]
    schedulers = [ROOT / f"include/tenon/optim/{stem}.h" for stem in SCHEDULERS]
    for path in sorted((ROOT / "include/tenon/nn").glob("*.h")) + optim + schedulers:
        if path.stem in NOT_LAYERS:
            continue
        if path.parent.name == "optim" and "## Optimizers, `tenon::optim`" not in lines:
            lines += ["## Optimizers, `tenon::optim`", "", "A `Group` is `{.params = ..., .lr = ...}`, with any of the options.", ""]
        if path == schedulers[0]:
            lines += ["## Schedulers, `tenon::optim::lr_scheduler`", "", "`PerGroup` takes a number or one for each group: `{0.1, 0.2}`.", ""]
        found = []
        text = re.sub(r"namespace detail \{.*?\}  \n", "", headers.texts[path], flags=re.S)
        for name, _, body in CLASS.findall(text):
            found += constructors(headers, path.stem, name, body)
        if not found:
            continue
        lines += [f"`tenon/{path.parent.name}/{path.name}`", "", "```"] + found + ["```", ""]
        if path.stem in NOTES:
            lines += NOTES[path.stem] + [""]
    lines += ["## Functions, `tenon`", ""]
    for stem in FUNCTIONS:
        path = ROOT / f"include/tenon/{stem}.h"
        if not path.exists():
            continue
        found = []
        text = headers.texts[path]
        for match in FUNCTION.finditer(text):
            options, result, name = match.groups()
            if name.endswith("_out"):
                continue
            arguments = split_arguments(parenthesised(text, match.end()))
            if options:  # of a template that takes these options only
                result = result[:-1]
                arguments[-1] = arguments[-1].replace("const O&", f"const {options}&")
            shown = ", ".join(headers.argument(one, stem.startswith("nn/")) for one in arguments)
            line = f"{name}({shown}) -> {plain_type(result)}"
            if line not in found:
                found.append(line)
        if found:
            lines += [f"`tenon/{stem}.h`", "", "```"] + found + ["```", ""]
    return "\n".join(lines).rstrip() + "\n"


def main():
    text = document()
    if sys.argv[1:] == ["--check"]:
        if not TARGET.exists() or TARGET.read_text() != text:
            print("docs/api.md is not what the headers say: run tools/api_docs.py")
            return 1
        return 0
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
