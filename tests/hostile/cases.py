"""What a case of the audit is: who writes its files, at which sizes, what is run over them, and what is required."""
import collections

INSPECT = ("inspect", "--json", "--hash", "IN")
INERT = ("inspect", "--json", "--hash", "--inert", "IN")
INERT_FILTER = ("inspect", "--json", "--inert", "--filter", "^a$", "IN")
VERIFY = ("verify", "IN")
EXTRACT = ("extract", "IN", "a", "-o", "OUT/a.npy")
TO_PTH = ("convert", "--no-sync", "IN", "OUT/out.pth")
TO_SAFETENSORS = ("convert", "--no-sync", "IN", "OUT/out.safetensors")
FILTERED = ("convert", "--no-sync", "--filter", "^a$", "IN", "OUT/out.pth")
CAST = ("convert", "--no-sync", "--dtype", "float64", "IN", "OUT/out.pth")
CAST_SAFETENSORS = ("convert", "--no-sync", "--dtype", "float64", "IN", "OUT/out.safetensors")
COMPACT = ("convert", "--no-sync", "--compact", "--dtype", "float64", "IN", "OUT/out.pth")
SHARDS = ("convert", "--no-sync", "--shard-size", "1", "IN", "OUT/shards")
SHARDS_PTH = ("convert", "--no-sync", "--to", "pth", "--shard-size", "1", "IN", "OUT/shards")
PATH = ("convert", "--no-sync", "--path", "model.layers.0.weight", "IN", "OUT/out.pth")
RENAMED_BY_RULE = ("convert", "--no-sync", "--rename-re", "a(.*b)?=x", "IN", "OUT/out.pth")
LISTED = ("inspect", "--json", "IN")
STATS = ("inspect", "--stats", "IN")
# Of hostile_load, which calls the library.
LOAD = ("load", "IN")
LOAD_INERT = ("load", "--inert", "IN")
LOAD_INERT_FILTER = ("load", "--inert", "--filter", "a", "IN")
LOAD_MMAP = ("load", "--mmap", "IN")
LOAD_SAVE = ("load", "IN", "OUT/out.pth")
SAVE_SAFETENSORS = ("load", "IN", "OUT/out.safetensors")
LOAD_PATH = ("load", "--path", "model.layers.0.weight", "IN")
REPR, EQUAL, READ = ("load", "--repr", "IN"), ("load", "--equal", "IN"), ("load", "--read", "IN")
STATE, INTO = ("load", "--state", "IN"), ("load", "--into", "IN")
LOAD_INERT_SAVE = ("load", "--inert", "IN", "OUT/out.pth")

Case = collections.namedtuple("Case", "name make sizes commands expectation suffix extra")
CASES = []


def case(name, sizes=(None,), commands=(INSPECT,), expect="either", suffix=".pth", **extra):
    """Registers a function from a size to the bytes of a file, or to {name: bytes} for a folder: a str instead of bytes is
    another name of that file. Two sizes are two files: what is allowed grows with the file, and with nothing else."""

    def register(make):
        CASES.append(Case(name, make, sizes, commands, expect, suffix, extra))
        return make

    return register


def allowed(size):
    """Megabytes over an empty run, and seconds."""
    megabytes = size / 2**20
    return 64 + 20 * megabytes, max(1.0, megabytes)
