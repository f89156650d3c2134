# HdrHistogram_c: the system's if pkg-config finds it, else the C source inside
# a pinned npm package, unpacked under build/ and never committed.
HDR_DIR := build/deps/hdr
HDR_LIB :=
