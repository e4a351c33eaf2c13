#!/usr/bin/env python3
"""Converting files with the command: what is left when it is killed, stopped, or out of room, and its answers.

usage: saving.py TENON
"""
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

from commands import expect, failures, FILES, NEW, PTH, tenon


def said(code, error=""):
    return subprocess.CompletedProcess([], code, "", error)


def inspect(path):
    done = tenon("inspect", "--json", "--hash", path)
    return json.loads(done.stdout) if done.returncode == 0 else {"tensors": []}


def names(path):
    return [t["name"] for t in inspect(path)["tensors"]]


def listed(folder):
    return sorted(p.name for p in folder.iterdir())


def safetensors(path, tensors):
    """A file of float32 tensors: name and bytes."""
    header, at = {}, 0
    for name, data in tensors:
        header[name] = {"dtype": "F32", "shape": [len(data) // 4], "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, data in tensors:
            out.write(data)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def large(folder, name, seed, megabytes=30):
    part = random.Random(seed).randbytes(1 << 20)
    safetensors(folder / name, [(f"layer.{i}", part * (megabytes // 10)) for i in range(10)])
    return folder / name


def killed(folder):
    """SIGKILL at random moments: the target is the old file or the new one, whole."""
    ins = [large(folder, "a.safetensors", 1), large(folder, "b.safetensors", 2)]
    out = folder / "out"
    out.mkdir()
    target = out / "model.pth"
    hashes = []
    begin = time.monotonic()
    for source in ins:
        done = tenon("convert", "--force", source, target)
        expect("convert before the kills", done.returncode == 0, done)
        hashes.append(digest(target))
    whole = (time.monotonic() - begin) / 2
    chance = random.Random(0)
    seen, left = [0, 0], 0
    now = 1
    begin = time.monotonic()
    for turn in range(200):
        if time.monotonic() - begin > 60:  # a slow machine
            break
        child = subprocess.Popen([sys.argv[1], "convert", "--force", *(["--no-sync"] if turn % 2 else []), ins[1 - now], target],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.random() * whole)
        child.kill()
        child.wait()
        left += listed(out) != ["model.pth"]
        is_now = digest(target)
        if is_now not in hashes:
            failures.append(f"kill {turn}: the target is neither the old nor the new file")
            break
        seen[is_now != hashes[now]] += 1
        now = hashes.index(is_now)
        if turn % 50 == 49:
            done = tenon("convert", "--force", ins[now], target)
            expect("convert after kills", done.returncode == 0 and listed(out) == ["model.pth"] and digest(target) == hashes[now], done)
    done = tenon("convert", "--force", ins[0], target)
    expect("nothing is left of those that were killed", done.returncode == 0 and listed(out) == ["model.pth"] and digest(target) == hashes[0], done)
    expect(f"some were killed in the middle: {left}, {seen}", left > 3 and seen[0] > 3, said(0))
    print(f"{turn + 1} kills: {seen[0]} left the old file and {seen[1]} the new one; {left} left a temporary file for the next")


def killed_shards(folder):
    """The same with a folder of shards: an index and the files it names belong together."""
    ins = [large(folder, "a.safetensors", 1), large(folder, "b.safetensors", 2)]
    hashes = [{t["name"]: t["sha256"] for t in inspect(source)["tensors"]} for source in ins]
    out = folder / "out"
    begin = time.monotonic()
    done = tenon("convert", "--shard-size", "7MB", ins[0], out)
    expect("shards before the kills", done.returncode == 0 and len(listed(out)) == 6, done)
    whole = time.monotonic() - begin
    chance = random.Random(1)
    for turn in range(30):
        child = subprocess.Popen([sys.argv[1], "convert", "--force", "--shard-size", "7MB", ins[turn % 2], out], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        time.sleep(chance.random() * whole)
        child.kill()
        child.wait()
        found = {t["name"]: t["sha256"] for t in inspect(out)["tensors"]}
        if found not in hashes:
            failures.append(f"kill {turn} of shards: neither the old nor the new ones: {listed(out)}")
            break
    done = tenon("convert", "--force", "--shard-size", "7MB", ins[0], out)
    expect(f"no temporary file is left of shards {listed(out)}", done.returncode == 0 and not any("tenon-tmp" in name for name in listed(out))
           and {t["name"]: t["sha256"] for t in inspect(out)["tensors"]} == hashes[0], done)


def stopped(folder):
    source = large(folder, "in.safetensors", 3, 100)
    out = folder / "out"
    out.mkdir()
    target = out / "model.pth"
    for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        for old in (None, b"old"):
            for _ in range(30):  # it may be through before the signal is there
                target.unlink(missing_ok=True)
                if old:
                    target.write_bytes(old)
                child = subprocess.Popen([sys.argv[1], "convert", "--force", source, target], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                while child.poll() is None and not any("tenon-tmp" in name for name in listed(out)):
                    time.sleep(0.0005)
                child.send_signal(sent)
                done = said(0)
                done.stdout, done.stderr = child.communicate()
                done.returncode = child.returncode
                if child.returncode != 0:
                    break
            expect(f"signal {sent.name}", done.returncode == code and "nothing was written" in done.stderr, done)
            expect(f"signal {sent.name} leaves what was there",
                   listed(out) == (["model.pth"] if old else []) and (not old or target.read_bytes() == old), done)
            target.unlink(missing_ok=True)
    # A folder of shards is gone, too.
    for _ in range(30):
        shutil.rmtree(out / "shards", ignore_errors=True)
        child = subprocess.Popen([sys.argv[1], "convert", "--force", "--shard-size", "30MB", source, out / "shards"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        while child.poll() is None and not (out / "shards").exists():
            time.sleep(0.0005)
        child.send_signal(signal.SIGINT)
        done = said(0)
        done.stdout, done.stderr = child.communicate()
        done.returncode = child.returncode
        if child.returncode != 0:
            break
    expect("shards that were interrupted", done.returncode == 130 and listed(out) == [], done)


def processor_seconds(child):
    """What a child has used of the processor, 0 if it is through."""
    try:
        fields = pathlib.Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0
    return 0 if fields[0] == "Z" else (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def while_reading(arguments, meanwhile, seconds):
    """Runs the command, and something else once the command has worked for so long. Its answer, and how long it has worked."""
    child = subprocess.Popen([sys.argv[1], *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while child.poll() is None and processor_seconds(child) < seconds:
        time.sleep(0.001)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    meanwhile(child)
    done = said(0)
    done.stdout, done.stderr = child.communicate()
    done.returncode = child.returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def reading(folder):
    """What happens while IN is read, which IN decides how long it takes: nothing is written yet."""
    source = folder / "many.safetensors"
    safetensors(source, [(f"layer.{i}", struct.pack("<f", i)) for i in range(200_000)])
    out = folder / "out"
    out.mkdir()
    target = out / "model.pth"
    done, whole = while_reading(["convert", source, target], lambda child: None, 0)
    expect("many tensors", done.returncode == 0 and target.exists(), done)
    target.unlink()
    extracting = ["extract", source, "layer.77", "-o", target]
    done, short = while_reading(extracting, lambda child: None, 0)
    expect("one of many tensors", done.returncode == 0 and target.read_bytes() == struct.pack("<f", 77), done)
    target.unlink()
    for arguments, seconds in ((["convert", source, target], whole), (["convert", "--shard-size", "1MB", source, target], whole), (extracting, short)):
        # One signal is enough.
        for sent in (signal.SIGTERM, signal.SIGINT):
            done, used = while_reading(arguments, lambda child: child.send_signal(sent), seconds / 10)
            expect(f"{sent.name} while reading, {arguments}", done.returncode == 128 + sent and "nothing was written" in done.stderr, done)
            expect(f"{sent.name} while reading is soon: {used} of {seconds} s, {arguments}", used < 0.7 * seconds and listed(out) == [], done)

    # What takes the name of OUT meanwhile keeps it, and a link is not written through.
    precious = folder / "precious"
    precious.write_bytes(b"precious")
    for arguments, seconds in ((["convert", source, target], whole), (extracting, short)):
        for make in (lambda child: target.write_bytes(b"theirs"), lambda child: target.symlink_to(precious), lambda child: target.symlink_to(folder / "none")):
            done, _ = while_reading(arguments, make, seconds / 10)
            expect(f"a file that appears, {arguments}", done.returncode == 3 and "is there already" in done.stderr and "--force" in done.stderr, done)
            expect(f"a file that appears stays, {arguments}", precious.read_bytes() == b"precious" and listed(out) == ["model.pth"]
                   and not (folder / "none").exists() and (target.is_symlink() or target.read_bytes() == b"theirs"), done)
            target.unlink()
    index = target / "model.safetensors.index.json"

    def make_index(child):
        target.mkdir()
        index.write_bytes(b"theirs")
    done, _ = while_reading(["convert", "--shard-size", "1MB", source, target], make_index, whole / 10)
    expect("an index that appears", done.returncode == 3 and "is there already" in done.stderr and listed(target) == [index.name]
           and index.read_bytes() == b"theirs", done)
    # Forced, the file behind the link is replaced, as ever.
    shutil.rmtree(target)
    target.symlink_to(precious)
    done = tenon("convert", "--force", PTH, target)
    expect("a link, forced", done.returncode == 0 and target.is_symlink() and names(precious) == ["weight", "bias"], done)


def odd_names(folder):
    for name in ("...pth", "a\nb.pth", "a:b.pth", "\x1b[31m.pth", "a\u202eb.pth"):
        out = folder / name
        done = tenon("convert", PTH, out)
        expect(f"convert to {name!r}", done.returncode == 0 and "\x1b" not in done.stdout and "\u202e" not in done.stdout, done)
        expect(f"what was written to {name!r} is read", names(out) == ["weight", "bias"], done)
        entries = zipfile.ZipFile(out).namelist()
        expect(f"entries of {name!r}: {entries}", all(entry.startswith("archive/") for entry in entries), done)
    # Set-uid is not for new bytes.
    out = folder / "x.safetensors"
    out.write_bytes(b"")
    out.chmod(0o6755)
    done = tenon("convert", "--force", PTH, out)
    expect(f"mode {out.stat().st_mode:o}", done.returncode == 0 and out.stat().st_mode & 0o7777 == 0o755, done)
    # Whoever holds the names of temporary files does not keep us from writing.
    for i in range(16):
        (folder / f".y.pth.tenon-tmp{i}").mkdir()
    done = tenon("convert", PTH, folder / "y.pth")
    expect("squatted names", done.returncode == 0 and names(folder / "y.pth") == ["weight", "bias"], done)
    # Names that a replacement would take forever for.
    safetensors(folder / "long.safetensors", [("a" * (1 << 20), b"0000")])
    done = tenon("convert", "--rename-re", "a.*?b|a=c", folder / "long.safetensors", folder / "z.pth")
    expect("renaming a name of a megabyte", done.returncode == 3 and "up to 1024" in done.stderr and len(done.stderr) < 1000, done)


def traced(folder):
    if not shutil.which("strace"):
        print("strace is not installed: the order of system calls was not looked at")
        return
    log, target = folder / "log", folder / "model.safetensors"
    target.write_bytes(b"old")
    done = subprocess.run(["strace", "-f", "-y", "-o", log, "-e", "trace=pwrite64,fsync,rename,renameat,renameat2", sys.argv[1], "convert", "--force",
                           PTH, target], capture_output=True, text=True)
    if done.returncode != 0 and ("PTRACE" in done.stderr or "ptrace" in done.stderr):
        print("strace may not trace here: the order of system calls was not looked at")
        return
    calls = []
    for line in log.read_text().splitlines():
        found = re.match(r"\d+\s+(\w+)\((?:\d+<([^>]*)>)?", line)
        if found and str(folder) in line:
            calls.append("folder" if found[1] == "fsync" and found[2] == str(folder) else found[1].replace("at2", "").replace("at", ""))
    short = [call for i, call in enumerate(calls) if i == 0 or call != calls[i - 1]]
    expect(f"written, synced, renamed, folder synced: {calls}", done.returncode == 0 and short == ["pwrite64", "fsync", "rename", "folder"], done)
    log.unlink()
    done = subprocess.run(["strace", "-f", "-y", "-o", log, "-e", "trace=fsync", sys.argv[1], "convert", "--force", "--no-sync", PTH, target],
                          capture_output=True, text=True)
    expect("--no-sync syncs nothing", done.returncode == 0 and "fsync(" not in log.read_text(), done)


def answers(folder):
    out = folder / "x.safetensors"
    for wrong in ([], [PTH], [PTH, out, out], ["--to", "onnx", PTH, out], ["--to", PTH, out], [PTH, folder / "x"], ["--shard-size", "many", PTH, out],
                  ["--shard-size", "0", PTH, out], ["--shard-size", "-5GB", PTH, out], ["--shard-size", "5XB", PTH, out],
                  ["--shard-size", "nan", PTH, out], ["--memory", "", PTH, out], ["--memory", "1QB", PTH, out], ["--dtype", "float99", PTH, out],
                  ["--dtype", "int8", PTH, out], ["--dtype-for", "weight", PTH, out], ["--dtype-for", "weight=int8", PTH, out],
                  ["--dtype-for", "(=float16", PTH, out], ["--filter", "(", PTH, out], ["--rename", "weight", PTH, out], ["--rename-re", "weight", PTH, out],
                  ["--rename-re", "(=x", PTH, out], ["--frob", PTH, out], ["", out], [PTH, ""]):
        done = tenon("convert", *wrong)
        expect(f"usage convert {wrong}", done.returncode == 2 and done.stderr and not done.stdout, done)
    done = tenon("convert", "--help")
    expect("help of convert", done.returncode == 0 and "usage: tenon convert" in done.stdout, done)
    done = tenon("convert", "/nowhere/at.all", out)
    expect("convert no file", done.returncode == 4 and "No such file" in done.stderr, done)
    done = tenon("convert", PTH, folder / "nowhere" / "x.pth")
    expect("convert into no folder", done.returncode == 4 and "does not exist" in done.stderr, done)
    done = tenon("convert", FILES / "torch-2.11" / "whole_module.pth", out)
    expect("convert an object", done.returncode == 3 and "byte " in done.stderr, done)
    expect("nothing was written", listed(folder) == [], done)

    done = tenon("convert", "--dry-run", "--dtype", "bfloat16", "--add-prefix", "net.", PTH, out)
    expect("dry run", done.returncode == 0 and "weight -> net.weight  float32 -> bfloat16" in done.stdout and f"would write {out}" in done.stdout
           and listed(folder) == [], done)
    done = tenon("convert", "--dry-run", "--shard-size", "10", PTH, folder / "shards")
    expect("dry run of shards", done.returncode == 0 and "model-00002-of-00002.safetensors" in done.stdout and listed(folder) == [], done)

    done = tenon("convert", PTH, out)
    expect("convert", done.returncode == 0 and "2 tensors" in done.stdout and not done.stderr and listed(folder) == [out.name], done)
    same = [(t["name"], t["dtype"], t["shape"], t["sha256"]) for t in inspect(PTH)["tensors"]]
    expect("the same tensors", [(t["name"], t["dtype"], t["shape"], t["sha256"]) for t in inspect(out)["tensors"]] == same, done)
    back = folder / "linear_sd.pth"
    done = tenon("convert", out, back)
    expect("and back: the same file but its id", done.returncode == 0 and back.stat().st_size == PTH.stat().st_size, done)
    done = tenon("verify", back)
    expect("which can be verified", done.returncode == 0 and done.stdout == "verified\n", done)
    out.write_bytes(b"before")
    done = tenon("convert", PTH, out)
    expect("a file that is there", done.returncode == 3 and "--force" in done.stderr and out.read_bytes() == b"before", done)
    done = tenon("convert", "--force", PTH, out)
    expect("a file that is there, forced", done.returncode == 0 and names(out) == ["weight", "bias"], done)
    before = back.read_bytes()
    done = tenon("convert", "--force", back, back)
    expect("over itself", done.returncode == 0 and back.read_bytes() == before, done)
    back.unlink()
    out.unlink()

    # Names and dtypes.
    for options, expected in ((["--filter", "^b"], ["bias"]), (["--add-prefix", "net."], ["net.weight", "net.bias"]),
                              (["--rename", "weight=w", "--rename", "bias=b"], ["w", "b"]), (["--rename-re", "^(.)(.*)=\\2\\1"], ["eightw", "iasb"]),
                              (["--strip-prefix", "we"], ["ight", "bias"]), (["--filter", "nothing"], [])):
        done = tenon("convert", *options, PTH, out)
        expect(f"names {options}", done.returncode == 0 and names(out) == expected, done)
        out.unlink(missing_ok=True)
    done = tenon("convert", "--rename", "weight=bias", PTH, out)
    expect("two of one name", done.returncode == 3 and "bias" in done.stderr and listed(folder) == [], done)
    done = tenon("convert", "--path", "model", "--dtype", "float16", "--dtype-for", "conv1=bfloat16", FILES / "torch-2.11" / "train_ckpt.pth", out)
    dtypes = {t["name"]: t["dtype"] for t in inspect(out)["tensors"]}
    expect(f"path and dtypes {dtypes}", done.returncode == 0 and dtypes["conv1.weight"] == "bfloat16"
           and set(dtypes.values()) <= {"bfloat16", "float16", "int64"} and "float16" in dtypes.values(), done)
    out.unlink()
    done = tenon("convert", "--path", "nothing", FILES / "torch-2.11" / "train_ckpt.pth", out)
    expect("no such path", done.returncode == 3 and listed(folder) == [], done)

    # What is more than a dict of tensors.
    views = NEW / "views.pt"
    done = tenon("convert", "--strict", NEW / "opt_adam.pt", out)
    expect("strict", done.returncode == 3 and "more than that" in done.stderr and listed(folder) == [], done)
    done = tenon("convert", NEW / "opt_adam.pt", out)
    expect("an optimizer", done.returncode == 0, done)
    again = folder / "opt_adam.pt"
    done = tenon("convert", out, again)
    hashes = [{t["name"]: t["sha256"] for t in inspect(f)["tensors"]} for f in (NEW / "opt_adam.pt", again)]
    expect("and back", done.returncode == 0 and hashes[0] == hashes[1]
           and json.loads(tenon("inspect", "--json", again).stdout)["values"] == json.loads(tenon("inspect", "--json", NEW / "opt_adam.pt").stdout)["values"], done)
    out.unlink()
    again.unlink()
    done = tenon("convert", "--compact", views, again)
    expect("compact", done.returncode == 0 and {t["name"]: t["sha256"] for t in inspect(views)["tensors"]}
           == {t["name"]: t["sha256"] for t in inspect(again)["tensors"]}, done)
    again.unlink()
    done = tenon("convert", FILES / "odd" / "metadata_dag.pth", out, timeout=30)
    expect("what would be 2^40 places in JSON", done.returncode == 3 and done.stderr and listed(folder) == [], done)

    # Memory, damage, room.
    done = tenon("convert", "--memory", "10", NEW / "deflated.pth", out)
    expect("too little memory for what is deflated", done.returncode == 3 and "memory" in done.stderr and listed(folder) == [], done)
    done = tenon("convert", NEW / "deflated.pth", out)
    expect("what is deflated", done.returncode == 0 and {t["sha256"] for t in inspect(out)["tensors"]}
           == {t["sha256"] for t in inspect(NEW / "deflated.pth")["tensors"]}, done)
    out.unlink()
    data = bytearray(PTH.read_bytes())
    data[data.index(bytes.fromhex("e8a38dbb"))] ^= 1  # the first weight
    damaged = folder / "damaged.pth"
    damaged.write_bytes(data)
    for options in ([], ["--to", "pth"], ["--dtype", "float16"], ["--shard-size", "10"], ["--compact"]):
        done = tenon("convert", *options, damaged, out)
        expect(f"what is damaged {options}", done.returncode == 3 and "checksum" in done.stderr and listed(folder) == ["damaged.pth"], done)
    out.write_bytes(b"before")
    done = tenon("convert", "--force", damaged, out)
    expect("damaged, and the old file stays", done.returncode == 3 and out.read_bytes() == b"before" and len(listed(folder)) == 2, done)
    done = tenon("convert", "--force", PTH, out, restore_signals=False,  # Python ignores SIGXFSZ; so must the command
                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    expect("a file that would be too large", done.returncode == 4 and "too large" in done.stderr and out.read_bytes() == b"before"
           and len(listed(folder)) == 2, done)
    damaged.unlink()
    out.unlink()
    full_disk(folder)

    # Several files.
    shards = folder / "shards"
    done = tenon("convert", "--shard-size", "20", PTH, shards)
    expect("shards", done.returncode == 0 and "3 files" in done.stdout
           and listed(shards) == ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"]
           and names(shards) == ["weight", "bias"], done)
    index = json.loads((shards / "model.safetensors.index.json").read_text())
    expect("index", index == {"metadata": {"total_size": 32}, "weight_map": {"weight": "model-00001-of-00002.safetensors",
                                                                           "bias": "model-00002-of-00002.safetensors"}}, done)
    done = tenon("convert", "--shard-size", "20", PTH, shards)
    expect("shards that are there", done.returncode == 3 and "--force" in done.stderr, done)
    done = tenon("convert", "--shard-size", "1kB", "--force", shards, shards)
    expect("shards over themselves", done.returncode == 0 and listed(shards) == ["model-00001-of-00001.safetensors", "model.safetensors.index.json"]
           and names(shards) == ["weight", "bias"], done)
    done = tenon("convert", "--shard-size", "20", "--to", "pth", PTH, shards)
    expect("shards that nobody would read", done.returncode == 4 and "readers of the folder take this file" in done.stderr
           and len(listed(shards)) == 2, done)
    bins = folder / "bins"
    done = tenon("convert", "--shard-size", "20", "--to", "pth", PTH, bins)
    expect("shards of the other kind", done.returncode == 0 and len(listed(bins)) == 3 and names(bins) == ["weight", "bias"], done)
    done = tenon("convert", "--shard-size", "20", PTH, bins)
    expect("shards that are read first beside them", done.returncode == 0 and len(listed(bins)) == 6
           and names(bins / "pytorch_model.bin.index.json") == ["weight", "bias"], done)
    shutil.rmtree(bins)
    done = tenon("convert", "--shard-size", "20", NEW / "opt_adam.pt", folder / "none")
    expect("shards of what is no dict of tensors", done.returncode == 3 and listed(folder) == ["shards"], done)
    # A folder behind a link is another's to be written into.
    before = {name: (shards / name).read_bytes() for name in listed(shards)}
    link = folder / "link"
    link.symlink_to("shards")
    empty = folder / "empty"
    empty.mkdir()
    other = folder / "other"
    other.symlink_to(empty)
    for out in (link, f"{link}/", other, f"{other}//"):
        done = tenon("convert", "--shard-size", "20", PTH, out)
        expect(f"shards behind a link {out}", done.returncode == 3 and "--force" in done.stderr and str(out).rstrip("/") in done.stderr
               and listed(empty) == [] and {name: (shards / name).read_bytes() for name in listed(shards)} == before, done)
    done = tenon("convert", "--force", "--shard-size", "20", PTH, f"{other}/")
    expect("shards behind a link, forced", done.returncode == 0 and other.is_symlink() and len(listed(empty)) == 3
           and names(empty) == ["weight", "bias"], done)
    done = tenon("convert", "--dry-run", "--shard-size", "20", PTH, link)
    expect("dry run of shards behind a link", done.returncode == 0, done)
    for name in (link, other):
        name.unlink()
    shutil.rmtree(empty)
    shutil.rmtree(shards)


def full_disk(folder):
    disk = folder / "disk"
    disk.mkdir()
    mounted = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True).returncode == 0
    if not mounted:
        print("no small disk can be mounted: only the limit on a file's size was tried")
        disk.rmdir()
        return
    try:
        source = large(folder, "in.safetensors", 4, 10)
        (disk / "x.pth").write_bytes(b"before")
        for options in ([], ["--no-sync"]):
            done = tenon("convert", "--force", *options, source, disk / "x.pth")
            expect("a full disk", done.returncode == 4 and "No space left" in done.stderr and listed(disk) == ["x.pth"]
                   and (disk / "x.pth").read_bytes() == b"before", done)
        done = tenon("convert", "--shard-size", "300kB", source, disk / "shards")
        expect("a full disk, in shards", done.returncode == 4 and "No space left" in done.stderr and listed(disk) == ["x.pth"], done)
        source.unlink()
    finally:
        subprocess.run(["umount", disk], check=True)
    disk.rmdir()


def main():
    for part in (answers, odd_names, traced, stopped, reading, killed_shards):
        with tempfile.TemporaryDirectory() as folder:
            part(pathlib.Path(os.path.realpath(folder)))
    with tempfile.TemporaryDirectory() as folder:
        killed(pathlib.Path(folder))
    print("\n".join(failures) or "files appear whole or not at all")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
