"""How the tables write a figure."""


def text(nanoseconds):
    if nanoseconds is None:
        return "-"
    for unit, size in (("ms", 1e6), ("us", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.2f} {unit}"
    return f"{nanoseconds:.1f} ns"
