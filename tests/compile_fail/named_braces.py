#!/usr/bin/env python3
"""Tries every public constructor and function that takes a list in braces with names in the braces that nothing has.

    named_braces.py COMPILER

Finds them in the headers, so that a new one is tried too. One file holds a call of each with a plain list, {1, 1}, and must
compile. Another holds the same calls with {.nobody = 1, .knows = 1} and {.nobody = 1}, one to a line, and the same names in the
braces of what is constructed, T made{.nobody = 1}; the compiler has to report an error for every line. Why that is not a matter
of course: Note [Braces with names] in include/tenon/shape.h.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# What a list in braces becomes, and one that fits.
LISTS = [(r"Dims|Shape|DimList|ConvPadding|OutputSize|SizeList|std::initializer_list<std::int64_t>|std::vector<std::int64_t>", "1, 1"),
         (r"ScaleFactor|PerGroup|std::vector<double>", "1.0, 1.0"),
         (r"NestedNumbers", "1, 2"),
         (r"Params|std::initializer_list<Tensor>|std::vector<Tensor>", "x, x"),
         (r"std::initializer_list<TensorIndex>", "1, 1"),
         (r"MapLocation", '{"cpu", Device::cpu()}'),
         (r"std::initializer_list<std::pair<std::string, Tensor>>", '{"a", x}, {"b", x}'),
         (r"std::initializer_list<std::pair<std::string, std::shared_ptr<M(odule)?>>>", '{"a", layer}, {"b", layer}'),
         (r"std::vector<std::shared_ptr<Module>>", "layer, layer"),
         (r"(std::initializer_list|std::vector)<(\w+Group)>", "group, group")]
# Other arguments. Those with defaults after the list are left out.
OTHERS = [(r"Tensor", "x"), (r"std::int64_t|std::size_t|int|I", "1"), (r"DType", "float32"), (r"double|Scalar", "1.0"), (r"bool", "true"),
          (r"std::string_view|std::string|char\*", '"a"'), (r"Optimizer", "optimizer"), (r"std::vector<SchedulerPart>", "{part, part}"),
          (r"\w*Options?", "{}"), (r"Generator", "default_generator()"), (r"std::span<const Tensor>", "tensors"),
          (r"std::optional<.*>", "std::nullopt"), (r"std::shared_ptr<M>", "layer")]

# Not callable from outside as it stands, with the reason.
LEFT_OUT = {
    "NestedNumbers": "a list of lists, tried as tensor()",
    "Value": "no list becomes one; of two named numbers g++ 12 makes a std::string, whose class is not ours",
    "make": "which class it makes is not in its arguments; tried among the forms",
    "apply": "of nodes: the engine calls it",
    "shape_for": "of lazy modules: the load calls it",
    "OpCall": "the dispatcher makes it",
    "ParamGroup": "optimizers make it",
    "write": "of schedulers: overridden, not called",
}

# Forms that a signature does not show: $ is where the list goes.
FORMS = ["nn::make<nn::MaxPool2d>($1, 1$)", "nn::make<nn::MaxPool2d>($1, 1$, {.stride = 2})", "nn::make<nn::LayerNorm>($1, 1$)",
         "nn::make<nn::Conv2d>(3, 64, $1, 1$)", "nn::make<nn::Conv2d>(3, 64, $1, 1$, {.stride = 2})",
         "nn::Conv2d(3, 64, 3, {.padding = $1, 1$})", "nn::Conv2d(3, 64, 3, {.stride = $1, 1$})",
         "nn::Upsample({.scale_factor = $2.0, 1.5$})", "nn::MaxPool2d(3, {.stride = $1, 1$})",
         "Dims($1, 1$)", "Shape($1, 1$)", "ConvPadding($1, 1$)", "OutputSize($1, 1$)", "ScaleFactor($1.0, 1.5$)",
         "static_cast<void>(Dims() = $1, 1$)", "static_cast<void>(Shape() = $1, 1$)", "x.sum({.dim = $0, 1$})",
         "load(\"a\", {.map_location = ${\"cpu\", Device::cpu()}$})"]
# Names that exist, in the braces of something else, beside what was meant.
WRONG_PLACES = [("nn::MaxPool2d(3, {.stride = 2})", "nn::MaxPool2d({.stride = 2, .kernel_size = 3})"),
                ("nn::Conv2d(3, 64, 3, {.stride = 2})", "nn::Conv2d(3, 64, {.stride = 2})"),
                ("nn::AvgPool2d(3, {.stride = 2})", "nn::AvgPool2d({.stride = 2, .kernel_size = 3})"),
                ("nn::LayerNorm({3}, {.eps = 1})", "nn::LayerNorm({.eps = 1})"),
                ("nn::make<nn::MaxPool2d>(3, {.stride = 2})", "nn::make<nn::MaxPool2d>({.stride = 2, .kernel_size = 3})"),
                ("nn::MaxPool2d made{3, 2}", "nn::MaxPool2d made{.stride = 2, .kernel_size = 3}"),
                ("nn::MaxPool1d made{{3}, {.stride = 2}}", "nn::MaxPool1d made{.stride = 2}"),
                ("nn::AvgPool2d made{3, 2}", "nn::AvgPool2d made{.stride = 2, .kernel_size = 3}"),
                ("nn::MaxUnpool2d made{3, 2}", "nn::MaxUnpool2d made{.stride = 2, .kernel_size = 3}"),
                ("nn::LPPool2d made{2, {3, 3}}", "nn::LPPool2d made{.norm_type = 2, .kernel_size = 3}"),
                ("nn::LayerNorm made{{3, 4}, {.eps = 1}}", "nn::LayerNorm made{.eps = 1}"),
                ("nn::RMSNorm made{{3, 4}, {.eps = 1}}", "nn::RMSNorm made{.eps = 1}"),
                ("zeros({2, 3}, {.dtype = float32})", "zeros({.dtype = float32})"),
                ("load(\"a\", {.map_location = \"cpu\"})", "load(\"a\", {.map_location = {.device = \"cpu\"}})")]

# Classes that have to take a list in braces themselves, and so have a constructor from one: for these g++ 12 forgets a name, and
# takes its value (docs/divergences.md).
LISTS_THEMSELVES = {
    "Dims", "Shape", "PerGroup", "Params", "MapLocation", "NestedNumbers",  # what braces become
    "Sequential", "ModuleDict<>", "ParameterDict",  # Sequential{{"fc", layer}}
    "SGD", "Adam", "AdamW", "RMSprop", "Adagrad",  # SGD({{.params = p}}), which an array would make ambiguous
}

PROLOGUE = """#include <tenon/tenon.h>
using namespace tenon;
using namespace tenon::nn;
using namespace tenon::optim;
using namespace tenon::optim::lr_scheduler;
extern const Tensor x;
extern const std::shared_ptr<Module> layer;
extern Optimizer& optimizer;
extern LRScheduler& part;
extern const std::vector<Tensor> tensors;
template <class T>
T&& any_one();
"""


def scopes(text):
    """Yields (namespaces and classes around it, declaration) of what is public."""
    text = re.sub(r"//[^\n]*|^ *#[^\n]*(?:\\\n[^\n]*)*", "", text, flags=re.M)
    stack, buffer, depth, i = [], "", 0, 0
    while i < len(text):
        c = text[i]
        depth += (c == "(") - (c == ")")
        if depth == 0 and c in ";{}":
            head = re.sub(r"\s+", " ", buffer).strip()
            head = re.sub(r"^.*\b(public|protected|private):\s*", lambda m: set_access(stack, m), head)
            buffer = ""
            opens = re.match(r"(?:inline )?namespace ([\w:]+)$", head)
            kind = re.match(r"(?:template <[^{]*?> ?)?(?:class|struct) (?:TENON_API )?(\w+)(?: final)?(?: ?:[^:].*)?$", head)
            if c == "}":
                if stack:
                    stack.pop()
            elif c == "{" and opens:
                stack.append([opens.group(1), "namespace"])
            elif c == "{" and kind and "(" not in head.split(":")[0]:
                stack.append([kind.group(1), "private" if "class " in head else "public"])
            else:
                if all(access in ("namespace", "public") for _, access in stack) and head:
                    yield [name for name, _ in stack], head
                if c == "{":  # a body, or the braces of a member that is initialised before it
                    while i < len(text) and text[i] == "{":
                        level = 0
                        while True:
                            level += (text[i] == "{") - (text[i] == "}")
                            i += 1
                            if level == 0:
                                break
                        rest = re.match(r"\s*(,[^{}();]*(\([^{}]*\))?|[^{};]*\)\s*)?\s*(?=\{)", text[i:]) if head.count(":") else None
                        if rest:
                            i += rest.end()
                    continue
        else:
            buffer += c
        i += 1


def set_access(stack, match):
    stack[-1][1] = match.group(1)
    return ""


def split_arguments(text):
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "(<{") - (c in ")>}")
        if c == "," and depth == 0:
            out.append(text[start:i])
            start = i + 1
    return [one.strip() for one in out + [text[start:]] if one.strip()]


def bare(declared):
    """The type of a parameter without const, reference and name."""
    declared = re.sub(r"\bconst (?=[\w:]+(<.*>)?[&*]? |[\w:]+(<.*>)?&)", "", declared.split(" = ")[0].strip(), count=1)
    match = re.match(r"((?:[\w:]+)(?:<.*>)?)\s*[&*]{0,2}\s*(\w*)$", declared)
    return (match.group(1) + ("*" if "*" in declared else "")) if match else declared


def sample(kind, table):
    return next((value for pattern, value in table if re.fullmatch(pattern, kind)), None)


def calls():
    """(name, expression with the list between $) of everything in the headers that takes one."""
    found = {}
    for path in sorted((ROOT / "include/tenon").glob("**/*.h")):
        if path.parent.name == "detail" and not path.name.startswith("tensor_"):
            continue
        for around, declaration in scopes(path.read_text()):
            if not around or around[0] not in ("tenon", "tenon::nn", "tenon::optim", "tenon::optim::lr_scheduler"):
                continue
            if {"detail", "op"} & set("::".join(around).split("::")) or " delete" in declaration or "operator" in declaration:
                continue
            declaration = re.sub(r"^template <.*?>(?: requires.*?(?=\b(?:explicit|inline|Tensor|std)\b))? ?", "", declaration)
            head = re.match(r"([^(]*?)\b(\w+)\(", declaration)
            if not head or "~" in head.group(1) or "using" in head.group(1) or "friend" in head.group(1):
                continue
            level, end = 0, head.end() - 1
            for end in range(head.end() - 1, len(declaration)):
                level += (declaration[end] == "(") - (declaration[end] == ")")
                if level == 0:
                    break
            parameters = split_arguments(declaration[head.end():end])
            kinds = [bare(one) for one in parameters]
            name = head.group(2)
            if name in LEFT_OUT:
                continue
            for place, kind in enumerate(kinds):
                is_result = "&" in parameters[place] and "const " not in parameters[place]
                if sample(kind, LISTS) is None or is_result:
                    continue
                # A constructor from a list of the type itself is what the forms try.
                owner = around[-1] if len(around) > 1 and around[-1][0].isupper() else None
                if owner == name and owner in ("Dims", "Shape", "DimList", "ConvPadding", "OutputSize", "ScaleFactor", "PerGroup", "Params",
                                               "MapLocation", "NestedNumbers"):
                    continue
                arguments = []
                for at, one in enumerate(kinds):
                    value = sample(one, LISTS)
                    if at == place:
                        group = re.fullmatch(r"(std::initializer_list|std::vector)<(\w+Group)>", one)
                        value = f"{group.group(2)}{{}}, {group.group(2)}{{}}" if group else value
                        arguments.append("$" + value + "$")
                    elif at > place and " = " in parameters[at]:
                        break
                    else:
                        arguments.append("{" + value + "}" if value else sample(one, OTHERS) or f"any_one<{parameters[at].split(' = ')[0].rsplit(' ', 1)[0]}>()")
                listed = ", ".join(arguments)
                space = "::".join(one for one in around if one[0].islower())
                if owner and owner.startswith("Tensor") and owner != "TensorIndex":
                    call = f"x.{name}({listed})"
                elif owner == name:
                    call = f"{space}::{name}{'<>' if name in ('ModuleDict', 'ModuleList') else ''} made({listed})"
                elif owner:
                    call = f"any_one<{owner}&>().{name}({listed})"
                else:
                    call = f"{space}::{name}({listed})"
                found[call] = name
    return list(found)


def with_names(listed):
    """The list with names for all its elements, and with one for the first alone."""
    first, *rest = split_arguments(listed)
    return ["{" + ", ".join(f".{name} = {value}" for name, value in zip(("nobody", "knows", "of"), [first, *rest])) + "}", f"{{.nobody = {first}}}"]


def constructed(expressions):
    """T made{.nobody = ...} for each constructor: with the elements of its list, and with its arguments."""
    own = [f"{name} made(${value}$)" for name in ("Dims", "Shape", "ConvPadding", "OutputSize", "ScaleFactor", "Params", "PerGroup", "MapLocation", "NestedNumbers")
           for pattern, value in LISTS if re.fullmatch(pattern, name)]
    found = {}
    for one in expressions + own:
        made = re.fullmatch(r"(\S+) made\((.*)\)", one)
        if not made:
            continue
        elements = split_arguments(re.search(r"\$(.*)\$", made.group(2)).group(1))
        arguments = split_arguments(re.sub(r"\$(.*)\$", r"{\1}", made.group(2)))
        for values in (elements, elements[:1], arguments, arguments[:-1]):
            if len(values) == 1 and made.group(1).split("::")[-1] in LISTS_THEMSELVES:
                continue
            named = ", ".join(f".{name} = {value}" for name, value in zip(("nobody", "knows", "of", "all", "these"), values))
            if named:
                found[f"{made.group(1)} made{{{named}}}"] = None
    return list(found)


def lines_with_errors(compiler, lines):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "snippets.cpp"
        path.write_text("\n".join(lines) + "\n")
        limit = "-ferror-limit=0" if "clang" in compiler else "-fmax-errors=0"
        done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-w", limit, "-I", str(ROOT / "include"), str(path)], capture_output=True, text=True)
        return {int(line) for line in re.findall(r"snippets\.cpp:(\d+):", done.stderr)}, done


def main():
    compiler = sys.argv[1]
    expressions = calls() + FORMS
    if "--list" in sys.argv:
        print("\n".join(expressions))
        return 0
    before = PROLOGUE.strip().split("\n")
    plain = [re.sub(r"\$(.*)\$", r"{\1}", one) for one in expressions] + [right for right, _ in WRONG_PLACES]
    wrong = [re.sub(r"\$.*\$", lambda _, named=named: named, one) for one in expressions for named in with_names(re.search(r"\$(.*)\$", one).group(1))]
    wrong += [mistake for _, mistake in WRONG_PLACES] + constructed(expressions)
    body = lambda all_of_them: before + [f"void f{i}() {{ {one}; }}" for i, one in enumerate(all_of_them)]
    reported, done = lines_with_errors(compiler, body(plain))
    if done.returncode != 0:
        for line in sorted(reported):
            print("with a plain list it must compile: ", body(plain)[line - 1])
        print(done.stderr[:3000])
        return 1
    reported, done = lines_with_errors(compiler, body(wrong))
    accepted = [one for i, one in enumerate(wrong) if i + len(before) + 1 not in reported]
    for one in accepted:
        print("compiles, and must not: ", one)
    print(f"{len(expressions)} calls, {len(wrong)} mistakes, {len(accepted)} of them accepted")
    return 1 if accepted else 0


if __name__ == "__main__":
    sys.exit(main())
