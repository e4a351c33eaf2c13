#!/usr/bin/env python3
"""Tries every public constructor and function that takes a list in braces with names in the braces that nothing has.

    named_braces.py COMPILER

Finds them in the headers, so that a new one is tried too. One file holds a call of each with a plain list, {1, 1}, and must
compile; so does each field of a struct of options that a list goes into. Another holds the same calls with {.nobody = 1, .knows = 1} and {.nobody = 1}, one to a line, and the same names in the
braces of what is constructed, T made{.nobody = 1}; the compiler has to report an error for every line. Why that is not a matter
of course: Note [Braces with names] in include/tenon/shape.h. What no list here fits fails the check too (see containers()).
"""
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# What a list in braces becomes, and one that fits.
LISTS = [(r"Dims|Shape|ConvPadding|OutputSize|std::int64_t\[\]|std::vector<std::int64_t>", "1, 1"),
         (r"ScaleFactor|PerGroup|std::vector<double>", "1.0, 1.0"),
         (r"NestedNumbers", "1, 2"),
         (r"Params|TensorList|Tensor\[\]|std::vector<Tensor>", "x, x"),
         (r"TensorIndices", "1, 1"), (r"TensordotDims", "{0, 1}, {1, 0}"),
         (r"std::vector<Value>|Value\[\]|std::span<const Value>|NamedValue\[\]", '1, "a"'),
         (r"(std::vector<|std::span<const )?Entry(\[\]|>)?", '{"a", 1}, {"b", 2}'),
         (r"std::vector<LRLambda>|LRLambda\[\]|std::span<const LRLambda>", "half, half"),
         (r"std::vector<SchedulerPart>|SchedulerPart\[\]|std::span<const SchedulerPart>", "part, part"),
         (r"std::map<std::string, std::string, std::less<>>|std::pair<std::string, std::string>\[\]", '{"a", "b"}, {"c", "d"}'),
         (r"Arguments|std::vector<std::any>", "x, 1"),
         (r"std::vector<std::pair<std::string, DType>>", '{"a", float32}, {"b", float64}'), (r"std::vector<std::string>", '"a", "b"'),
         (r"std::vector<bool>", "true, false"), (r"std::pair<double, double>", "0.5, 0.5"), (r"std::array<bool, 3>", "true, true, true"),
         (r"MapLocation", '{"cpu", Device::cpu()}'),
         (r"std::initializer_list<std::pair<std::string, Tensor>>", '{"a", x}, {"b", x}'),
         (r"std::initializer_list<(std::pair<std::string, std::shared_ptr<M>>|NamedModule)>|NamedModule\[\]", '{"a", layer}, {"b", layer}'),
         (r"(std::vector|std::span)<(const )?std::shared_ptr<M(odule)?>>|std::shared_ptr<M(odule)?>\[\]", "layer, layer"),
         (r"(std::span<const |)(\w+Group)(\[\]|>)", "group, group")]
# Other arguments. Those with defaults after the list are left out.
OTHERS = [(r"Tensor", "x"), (r"std::int64_t|std::size_t|int|I", "1"), (r"DType", "float32"), (r"double|Scalar", "1.0"), (r"bool", "true"),
          (r"std::string_view|std::string|char\*", '"a"'), (r"Optimizer", "optimizer"), (r"V", "parts"),
          (r"\w*Options?", "{}"), (r"Generator", "default_generator()"), (r"std::span<const Tensor>", "tensors"),
          (r"std::optional<.*>", "std::nullopt"), (r"std::shared_ptr<M>", "layer")]

# Not callable from outside as it stands, with the reason.
LEFT_OUT = {
    "tensor_from": "tensor() calls it",
    "Child": "of a class that its template says; tried among the forms",
    "parallel_apply": "which modules it calls is a template's matter",
    "reduce_gradients": "of lists of lists of tensors",
    "NestedNumbers": "a list of lists, tried as tensor()",
    "make": "which class it makes is not in its arguments; tried among the forms",
    "apply": "of nodes: the engine calls it",
    "shape_for": "of lazy modules: the load calls it",
    "OpCall": "the dispatcher makes it",
    "ParamGroup": "optimizers make it",
    "write": "of schedulers: overridden, not called",
}

# Parameters that hold many of something, and that no list above becomes, with the reason.
NO_LIST = {
    r"std::span<.*>": "a list in braces becomes none: where it may be one, there is an array beside it, which is tried",
    r"std::vector<(T|std::vector<T>|typename M::Args)>": "of what is deduced: no list in braces becomes one",
    r"std::vector<Edge>": "the engine's",
    r"std::vector<LRScheduler\*>\*": "of schedulers: overridden, not called",
}

# Forms that a signature does not show: $ is where the list goes.
THEMSELVES = ("Dims", "Shape", "ConvPadding", "OutputSize", "ScaleFactor", "PerGroup", "Params", "MapLocation", "NestedNumbers")
FORMS = ["nn::make<nn::MaxPool2d>($1, 1$)", "nn::make<nn::MaxPool2d>($1, 1$, {.stride = 2})", "nn::make<nn::LayerNorm>($1, 1$)",
         "nn::make<nn::Conv2d>(3, 64, $1, 1$)", "nn::make<nn::Conv2d>(3, 64, $1, 1$, {.stride = 2})",
         "nn::Conv2d(3, 64, 3, {.padding = $1, 1$})", "nn::Conv2d(3, 64, 3, {.stride = $1, 1$})",
         "nn::Upsample({.scale_factor = $2.0, 1.5$})", "nn::MaxPool2d(3, {.stride = $1, 1$})",
         "Dims($1, 1$)", "Shape($1, 1$)", "ConvPadding($1, 1$)", "OutputSize($1, 1$)", "ScaleFactor($1.0, 1.5$)",
         "static_cast<void>(Dims() = $1, 1$)", "static_cast<void>(Shape() = $1, 1$)", "x.sum({.dim = $0, 1$})",
         "load(\"a\", {.map_location = ${\"cpu\", Device::cpu()}$})",
         "nn::Child<nn::Sequential> made(any_one<Module*>(), \"name\", ${\"a\", layer}, {\"b\", layer}$)",
         "nn::Child<nn::LayerNorm> made(any_one<Module*>(), \"name\", $1, 1$)",
         "Value($1, 1, 1$)",  # of two numbers, it might be a complex one
         "nn::make<nn::Sequential>($layer, layer$)", "nn::make<nn::Sequential>(${\"a\", layer}, {\"b\", layer}$)",
         "nn::make<nn::ModuleDict<>>(${\"a\", layer}, {\"b\", layer}$)", "nn::make<nn::ModuleList<>>($layer, layer$)"]
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

# Classes that are written as a list in braces of lists, Sequential{{"fc", layer}}, and so have a constructor from one: for these
# g++ 12 forgets a name in their own braces, and takes its value (docs/divergences.md).
LISTS_THEMSELVES = {"Sequential", "ModuleDict<>", "ParameterDict", "NestedNumbers"}
# A field that is a std::vector of pairs: the same for one name around the whole list (docs/divergences.md).
VECTOR_FIELDS = {"dtype_for"}
# Functions that take lists of lists of any depth: the same, and the name says nothing that the numbers do not.
LISTS_OF_LISTS = {"tensor", "new_tensor"}

PROLOGUE = """#include <tenon/extend.h>
#include <tenon/tenon.h>
using namespace tenon;
using namespace tenon::nn;
using namespace tenon::optim;
using namespace tenon::optim::lr_scheduler;
extern const Tensor x;
extern const std::shared_ptr<Module> layer;
extern Optimizer& optimizer;
extern LRScheduler& part;
extern const std::vector<SchedulerPart> parts;
double half(std::int64_t);
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
                if c == "{":  # a body, or before it the braces of members: `: a_{1}, b_(2) {`
                    is_member = re.search(r"\)\s*(noexcept(\(.*\))?)? ?:(?!:).*[\w>]$", head) is not None
                    while True:
                        i = after_braces(text, i)
                        between = re.match(r"\s*(,[^{};]*)?(?=\{)", text[i:]) if is_member else None
                        if between is None:
                            break
                        is_member = re.search(r"[\w>]\s*$", between.group()) is not None
                        i += between.end()
                    continue
        else:
            buffer += c
        i += 1


def after_braces(text, i):
    level = 0
    while True:
        level += (text[i] == "{") - (text[i] == "}")
        i += 1
        if level == 0:
            return i


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
    """The type of a parameter without const, reference and name; of a list in braces, `const T (&list)[N]`, T[]."""
    array = re.match(r"const ([\w:]+(?:<.*>)?) \(&\w*\)\[N\]", declared)
    if array:
        return array.group(1) + "[]"
    declared = re.sub(r"\bconst (?=[\w:]+(<.*>)?[&*]? |[\w:]+(<.*>)?&)", "", declared.split(" = ")[0].strip(), count=1)
    match = re.match(r"((?:[\w:]+)(?:<.*>)?)\s*[&*]{0,2}\s*(\w*)$", declared)
    return (match.group(1) + ("*" if "*" in declared else "")) if match else declared


def sample(kind, table):
    return next((value for pattern, value in table if re.fullmatch(pattern, kind)), None)


def declarations():
    """Yields (namespaces and classes around it, declaration) of everything public in the public headers."""
    for path in sorted((ROOT / "include/tenon").glob("**/*.h")):
        if path.parent.name == "detail" and not path.name.startswith("tensor_"):
            continue
        for around, declaration in scopes(path.read_text()):
            if around and around[0].split("::")[0] == "tenon" and not {"detail", "op"} & set("::".join(around).split("::")):
                yield around, declaration


def plain_kind(kind):
    """The type itself, of one that may be left out."""
    optional = re.fullmatch(r"std::optional<(.*)>", kind)
    return optional.group(1) if optional else kind


def calls():
    """(name, expression with the list between $) of everything in the headers that takes one."""
    found = {}
    for around, declaration in declarations():
        if " delete" in declaration or "operator" in declaration:
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
        kinds = [plain_kind(bare(one)) for one in parameters]
        name = head.group(2)
        for place, kind in enumerate(kinds):
            is_result = "&" in parameters[place] and "const " not in parameters[place]
            if sample(kind, LISTS) is None or is_result:
                known = is_result or name in LEFT_OUT or any(re.fullmatch(one, kind) for one in NO_LIST)
                if not known and re.match(r"std::(vector|span|array|deque|map|set|unordered_\w+|initializer_list|pair|tuple)<|.*\[\]$", kind):
                    raise SystemExit(f"{name}() takes {kind}: say in LISTS what a list of it is, or in NO_LIST why there is none")
                continue
            # A constructor from a list of the type itself is what the forms try.
            owner = around[-1] if len(around) > 1 and around[-1][0].isupper() else None
            if name in LEFT_OUT or owner == name and (owner in THEMSELVES or (owner, kind) == ("Value", "Shape")):
                continue
            arguments = []
            for at, one in enumerate(kinds):
                value = sample(one, LISTS)
                if at == place:
                    group = re.fullmatch(r"(std::span<const |)(\w+Group)(\[\]|>)", one)
                    value = f"{group.group(2)}{{}}, {group.group(2)}{{}}" if group else value
                    arguments.append("$" + value + "$")
                elif at > place and " = " in parameters[at]:
                    break
                else:
                    arguments.append("{" + value + "}" if value else sample(one, OTHERS) or f"any_one<{parameters[at].split(' = ')[0].rsplit(' ', 1)[0]}>()")
            listed = ", ".join(arguments)
            space = "::".join(one for one in around if one[0].islower())
            if owner and owner.startswith("Tensor") and owner not in ("TensorIndex", "TensordotDims"):
                call = f"x.{name}({listed})"
            elif owner == name:
                call = f"{space}::{name}{'<>' if name in ('ModuleDict', 'ModuleList') else ''} made({listed})"
            elif owner:
                call = f"any_one<{'::'.join(around)}{'<>' if owner in ('ModuleDict', 'ModuleList') else ''}&>().{name}({listed})"
            else:
                call = f"{space}::{name}({listed})"
            found[call] = name
    return list(found)


def fields():
    """The same of every field of a struct of options that a list goes into: LayerNormOptions{.shape = $1, 1$}."""
    found = {}
    for around, declaration in declarations():
        match = re.match(r"([\w:]+(?:<.*>)?) (\w+(?:, \w+)*)(?: =.*)?$", declaration)
        if not match or not re.search(r"(Options|Group)$", around[-1]):
            continue
        listed = sample(plain_kind(match.group(1)), LISTS)
        if listed is None:
            if re.match(r"std::(vector|span|array|deque|map|set|unordered_\w+|initializer_list|pair|tuple)<", plain_kind(match.group(1))):
                raise SystemExit(f"{around[-1]} has a {match.group(1)}: say in LISTS what a list of it is")
            continue
        for name in match.group(2).split(", "):
            # In braces of its own where it may be left out.
            value = f"{{${listed}$}}" if "optional" in match.group(1) else f"${listed}$"
            found[f"static_cast<void>({'::'.join(around)}{{.{name} = {value}}})"] = None
    return list(found)


def with_names(listed):
    """The list with names for all its elements, with one for the first alone, and with one for all kinds of values: the list
    itself, nothing, what the list becomes, a bool, a number, a text, a tensor, more braces."""
    first, *rest = split_arguments(listed)
    deep = ["{" + ", ".join(inner_names(one) for one in [first, *rest]) + "}", "{" + inner_names(first) + "}"] if first.startswith("{") else []
    return (deep + ["{" + ", ".join(f".{name} = {value}" for name, value in zip(("nobody", "knows", "of"), [first, *rest])) + "}", f"{{.nobody = {first}}}"]
            + [f"{{.nobody = {value}}}" for value in (f"{{{listed}}}", "{}", "Dims{1, 1}", "true", "1.5", '"a"', "x", "{.deep = 1}", "tensors", "{true}")]
            + [f"{{.nobody = {{{listed}}}, .knows = {{{listed}}}}}", f"{{.nobody = {{{listed}}}, .knows = true}}", "{{.nobody = 1}}"])


def inner_names(listed):
    """{.nobody = "a", .knows = 1} of {"a", 1}."""
    return "{" + ", ".join(f".{name} = {value}" for name, value in zip(("nobody", "knows", "of"), split_arguments(listed[1:-1]))) + "}"


def constructed(expressions):
    """T made{.nobody = ...} for each constructor: with the elements of its list, and with its arguments."""
    own = [f"{name} made(${value}$)" for name in THEMSELVES for pattern, value in LISTS if re.fullmatch(pattern, name)]
    found = {}
    for one in expressions + own:
        made = re.fullmatch(r"(\S+) made\((.*)\)", one)
        if not made:
            continue
        elements = split_arguments(re.search(r"\$(.*)\$", made.group(2)).group(1))
        arguments = split_arguments(re.sub(r"\$(.*)\$", r"{\1}", made.group(2)))
        for values in (elements, elements[:1], arguments, arguments[:-1]):
            own_name = made.group(1).split("::")[-1]
            if own_name in LISTS_THEMSELVES and (len(values) == 1 or own_name == "Sequential"):
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
    expressions = calls() + fields() + FORMS
    if "--list" in sys.argv:
        print("\n".join(expressions))
        return 0
    before = PROLOGUE.strip().split("\n")
    plain = [re.sub(r"\$(.*)\$", lambda _, listed=listed: "{" + listed + "}", one) for one in expressions for elements in [re.search(r"\$(.*)\$", one).group(1)]
             # Of numbers and functions one alone needs no braces, and in g++ 12 they make some classes ambiguous.
             for listed in [elements] + [one for one in split_arguments(elements)[:1] if not re.match(r"[\d.]+$|half$|\{0", one)]] + [right for right, _ in WRONG_PLACES]
    wrong = [re.sub(r"\$.*\$", lambda _, named=named: named, one) for one in expressions for named in with_names(re.search(r"\$(.*)\$", one).group(1))
             if not (re.search(rf"\b({'|'.join(LISTS_OF_LISTS)})\(\$|\.({'|'.join(VECTOR_FIELDS)}) = \$", one)
                     and re.match(r"\{\.\w+ = \{[^.]*\}\}$", named))]
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
