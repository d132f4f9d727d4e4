"""Small files of older programs of an office, which lie in compound files (MS-CFB): mails of Outlook and workbooks."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Union

Tree = Mapping[str, Union[bytes, "Tree"]]
_SECTOR, _SMALL, _CUTOFF = 512, 64, 4096
_FREE, _END, _FAT, _NONE = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF


def compound(tree: Tree) -> bytes:
    """A file of these streams and storages."""
    entries: list[list[object]] = [["Root Entry", 5, _NONE, b""]]  # name, kind, child, data; left and right come later
    sides: dict[int, tuple[int, int]] = {}

    def enter(level: Tree) -> int:
        numbers = []
        for name in sorted(level, key=lambda name: (len(name), name.upper())):
            each = level[name]
            numbers.append(len(entries))
            entries.append([name, 2 if isinstance(each, bytes) else 1, _NONE, each if isinstance(each, bytes) else b""])
            if not isinstance(each, bytes):
                entries[numbers[-1]][2] = enter(each)
        return balanced(numbers)

    def balanced(numbers: Sequence[int]) -> int:
        if not numbers:
            return _NONE
        middle = len(numbers) // 2
        sides[numbers[middle]] = balanced(numbers[:middle]), balanced(numbers[middle + 1 :])
        return numbers[middle]

    entries[0][2] = enter(tree)
    return _laid_out(entries, sides)


def _laid_out(entries: Sequence[Sequence[object]], sides: Mapping[int, tuple[int, int]]) -> bytes:
    sectors, fat, small, small_fat = bytearray(), list[int](), bytearray(), list[int]()

    def put(data: bytes, into: bytearray, chain: list[int], size: int) -> int:
        if not data:
            return _END
        first, count = len(chain), -(-len(data) // size)
        into.extend(data.ljust(count * size, b"\0"))
        chain.extend([*range(first + 1, first + count), _END])
        return first

    places = []
    for _, _, _, data in entries:
        assert isinstance(data, bytes)
        is_small = len(data) < _CUTOFF
        places.append(put(data, *((small, small_fat, _SMALL) if is_small else (sectors, fat, _SECTOR))))
    root = put(bytes(small), sectors, fat, _SECTOR)
    small_table = put(b"".join(struct.pack("<I", each) for each in small_fat), sectors, fat, _SECTOR)
    directory = b"".join(
        _entry(entry, sides.get(at, (_NONE, _NONE)), (root, len(small)) if not at else (places[at], len(entry[3])))  # type: ignore[arg-type]
        for at, entry in enumerate(entries)
    )
    first_entry = put(directory, sectors, fat, _SECTOR)
    tables = 1
    while (len(fat) + tables) * 4 > tables * _SECTOR:
        tables += 1
    first_table = len(fat)
    fat += [_FAT] * tables
    fat += [_FREE] * (tables * _SECTOR // 4 - len(fat))
    listed = [first_table + at for at in range(tables)] + [_FREE] * (109 - tables)
    head = struct.pack("<8s16xHHHHH6xIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6, 0, tables,
                       first_entry, 0, _CUTOFF, small_table, -(-len(small_fat) * 4 // _SECTOR), _END, 0)  # fmt: skip
    return b"".join((head, struct.pack("<109I", *listed), bytes(sectors), struct.pack(f"<{len(fat)}I", *fat)))


def _entry(entry: Sequence[object], sides: tuple[int, int], place: tuple[int, int]) -> bytes:
    name, kind, child, _ = entry
    written = f"{name}\0".encode("utf-16-le")
    return struct.pack("<64sHBBIII36xIQ", written, len(written), kind, 1, *sides, child, *place)


def outlook(subject: str, text: str, attached: Mapping[str, bytes]) -> bytes:
    """A mail as Outlook saves it."""
    texts = {"0037": subject, "1000": text, "0C1A": "Anna", "0C1F": "anna@example.org", "0E04": "Ben"}
    tree: dict[str, bytes | Tree] = {"__nameid_version1.0": {}, **_properties(texts, 32)}
    for number, (name, data) in enumerate(attached.items()):
        own = _properties({"3707": name, "3704": name}, 8)
        tree[f"__attach_version1.0_#{number:08X}"] = own | {"__substg1.0_37010102": data}
    return compound(tree)


def _properties(texts: Mapping[str, str], head: int) -> dict[str, bytes | Tree]:
    rows = b"".join(struct.pack("<HHIQ", 0x1F, int(tag, 16), 6, 2 * len(text) + 2) for tag, text in texts.items())
    streams = {f"__substg1.0_{tag}001F": text.encode("utf-16-le") for tag, text in texts.items()}
    return {"__properties_version1.0": bytes(head) + rows, **streams}


def old_workbook(name: str, rows: Sequence[Sequence[str | float]], top: int = 0) -> bytes:
    """A workbook of Excel 97 with one sheet, whose rows begin at this one, from 0 on."""

    def record(kind: int, data: bytes = b"") -> bytes:
        return struct.pack("<HH", kind, len(data)) + data

    def cell(row: int, column: int, value: str | float) -> bytes:
        at = struct.pack("<HHH", row, column, 0)
        if isinstance(value, str):
            return record(0x0204, at + struct.pack("<HB", len(value), 1) + value.encode("utf-16-le"))
        return record(0x0203, at + struct.pack("<d", value))

    cells = b"".join(cell(top + at, column, value) for at, row in enumerate(rows) for column, value in enumerate(row))
    wide = max(map(len, rows))
    size = record(0x0200, struct.pack("<IIHHH", top, top + len(rows), 0, wide, 0))
    sheet = record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0010, 0, 0, 0, 0)) + size + cells + record(0x000A)
    begin = record(0x0809, struct.pack("<HHHHII", 0x0600, 0x0005, 0, 0, 0, 0)) + record(0x0042, struct.pack("<H", 1200))
    bound = struct.pack("<HBB", 0, len(name), 0) + name.encode("latin-1")
    offset = len(begin) + 4 + 4 + len(bound) + 4
    return compound({"Workbook": begin + record(0x0085, struct.pack("<I", offset) + bound) + record(0x000A) + sheet})
