"""What the checks of clients share: counting, and a bare RESP connection."""
import os
import socket
import sys
import traceback

PORT = int(os.environ['PORT'])
AUTH_PORT = int(os.environ['AUTH_PORT'])
PASSWORD = os.environ['PASSWORD']

_passed = _failed = 0


def check(name, body, *args):
    global _passed, _failed
    try:
        body(*args)
        _passed += 1
        print('ok     ', name)
    except Exception:
        _failed += 1
        print('FAILED ', name)
        print(traceback.format_exc(limit=-4))


def equal(got, wanted):
    if got != wanted:
        raise AssertionError(f'wanted {wanted!r}\ngot    {got!r}')


def contains(text, part):
    if part not in text:
        raise AssertionError(f'{part!r} is not in {text!r}')


def finish():
    print(f'{_passed} passed, {_failed} failed')
    sys.exit(1 if _failed else 0)


class ReplyError(Exception):
    pass


def encode(*words):
    out = b'*%d\r\n' % len(words)
    for w in words:
        b = w if isinstance(w, bytes) else str(w).encode()
        out += b'$%d\r\n%s\r\n' % (len(b), b)
    return out


class Connection:
    """Values as (type, value); nested ones too."""

    def __init__(self, port=None, timeout=10):
        self.socket = socket.create_connection(('127.0.0.1', port or PORT),
                                               timeout)
        self.file = self.socket.makefile('rb')

    def close(self):
        if hasattr(self, 'file'):
            self.file.close()
            self.socket.close()

    def __del__(self):
        self.close()

    def raw(self, data):
        self.socket.sendall(data)

    def value(self):
        line = self.file.readline()
        if not line.endswith(b'\r\n'):
            raise EOFError('closed')
        kind, text = line[:1], line[1:-2]
        if kind in b'+-:_#,(':
            return kind.decode(), text
        if kind in b'$=!':
            n = int(text)
            if n < 0:
                return '_', b''
            return kind.decode(), self.file.read(n + 2)[:-2]
        if kind in b'*~>%|':
            n = int(text)
            if n < 0:
                return '_', b''
            if kind in b'%|':
                n *= 2
            return kind.decode(), [self.value() for _ in range(n)]
        raise ValueError(f'not RESP: {line!r}')

    def do(self, *words):
        self.raw(encode(*words))
        return self.value()

    def rest(self):
        return self.file.read()


def plain(value):
    """Without the types: maps as dicts, bulk and simple strings as bytes."""
    kind, v = value
    if kind == ':':
        return int(v)
    if kind == '_':
        return None
    if kind in '*~>':
        return [plain(x) for x in v]
    if kind == '%':
        flat = [plain(x) for x in v]
        return dict(zip(flat[::2], flat[1::2]))
    if kind == '-':
        raise ReplyError(v.decode())
    return v
