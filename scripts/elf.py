"""Reads the required libraries in the header of a 64-bit ELF program, for scripts/wheel.py."""
import struct

PT_LOAD, PT_DYNAMIC, PT_INTERP = 1, 2, 3
DT_NEEDED, DT_STRTAB, DT_RPATH, DT_RUNPATH, DT_VERNEED, DT_VERNEEDNUM = 1, 5, 15, 29, 0x6FFFFFFE, 0x6FFFFFFF


class Program:
    """is_elf; is_static: without a loader, and so without a C library; needed: names of shared libraries; versions: of their
    symbols, `GLIBC_2.34` ..., per library; search_path: RUNPATH or RPATH, None without one."""

    def __init__(self, data):
        self.data = data
        self.is_elf = data[:6] == b"\x7fELF\x02\x01"
        self.is_static, self.needed, self.versions, self.search_path = False, [], {}, None
        if self.is_elf:
            self._read_segments()

    def _read_segments(self):
        offset, size, count = self._at("<Q", 32)[0], *self._at("<HH", 54)
        segments = [self._at("<IIQQQQ", offset + number * size) for number in range(count)]
        self.is_static = all(kind != PT_INTERP for kind, *_ in segments)
        self._loaded = [(address, address + length, place) for kind, _, place, address, _, length in segments if kind == PT_LOAD]
        for kind, _, place, _, _, length in segments:
            if kind == PT_DYNAMIC:
                self._read_dynamic(place, length)

    def _read_dynamic(self, place, length):
        entries = [self._at("<qQ", at) for at in range(place, place + length, 16)]
        one = dict(entries)
        self._strings = self._place(one[DT_STRTAB]) if DT_STRTAB in one else 0
        self.needed = [self._text(value) for tag, value in entries if tag == DT_NEEDED]
        self._search_at = one.get(DT_RUNPATH, one.get(DT_RPATH))
        if self._search_at is not None:
            self.search_path = self._text(self._search_at)
        at = self._place(one[DT_VERNEED]) if DT_VERNEED in one else 0
        for _ in range(one.get(DT_VERNEEDNUM, 0)):
            _, count, library, first, following = self._at("<HHIII", at)
            names = self.versions.setdefault(self._text(library), [])
            entry = at + first
            for _ in range(count):
                _, _, _, name, step = self._at("<IHHII", entry)
                names.append(self._text(name))
                entry += step
            at += following

    def with_search_path(self, path):
        """The bytes of the same program with another search path, which takes the place of the one that it has."""
        old, new = (self.search_path or "").encode(), path.encode()
        if len(new) > len(old):
            raise ValueError(f"its search path {self.search_path!r} has no place for {path!r}")
        at = self._strings + self._search_at
        return self.data[:at] + new.ljust(len(old), b"\0") + self.data[at + len(old):]

    def _at(self, layout, offset):
        return struct.unpack_from(layout, self.data, offset)

    def _place(self, address):
        return next(place + address - begin for begin, end, place in self._loaded if begin <= address < end)

    def _text(self, offset):
        begin = self._strings + offset
        return self.data[begin:self.data.index(b"\0", begin)].decode()
