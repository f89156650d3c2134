# HdrHistogram_c: the system's if pkg-config finds one, else the C source inside
# a pinned npm package, unpacked under build/ and never committed.
#
# HDR_READY is what must exist before the first compile.
ifneq ($(shell pkg-config --exists hdr_histogram 2>/dev/null && echo yes),)
HDR_CFLAGS := $(shell pkg-config --cflags hdr_histogram)
HDR_LINK := $(shell pkg-config --libs hdr_histogram)
HDR_LIB :=
HDR_READY :=
else
HDR_DIR := build/deps/hdr
HDR_CFLAGS := -isystem $(HDR_DIR)/include
HDR_LINK :=
HDR_LIB := $(HDR_DIR)/libhdr.a
HDR_READY := $(HDR_LIB)

$(HDR_LIB): deps/fetch_hdr
	deps/fetch_hdr $(HDR_DIR)
endif
