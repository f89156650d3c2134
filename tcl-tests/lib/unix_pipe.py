"""Carries bytes between standard input/output and a Unix socket."""
import os
import select
import socket
import sys

s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
while True:
    for fd in select.select([0, s], [], [])[0]:
        data = os.read(0, 65536) if fd == 0 else s.recv(65536)
        if not data:
            sys.exit(0)
        if fd == 0:
            s.sendall(data)
        else:
            os.write(1, data)
