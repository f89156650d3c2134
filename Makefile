# Belfry. `make help` lists the targets.
#
# One source folder is one library; what a folder may link is the row of
# tests/lint/layers.txt, for the programs and for the unit tests alike.
# VARIANT names a way to compile (release, plain, debug, asan, ubsan, tsan, fuzz,
# pgo). Each has its own folder under build/.
#
# Additions that concern one part of the tests go to tests/<part>/<part>.mk.

VARIANT ?= release
ifdef RELEASE
$(error RELEASE is VARIANT now: make VARIANT=$(RELEASE))
endif
B := build/$(VARIANT)
# make itself sets CC to "cc", so that ?= would never apply.
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= $(if $(filter ccache,$(firstword $(CC))),ccache )clang
PREFIX ?= /usr/local
DESTDIR ?=
MAKEFLAGS += --no-builtin-rules
# Two at a time unless the command line says otherwise.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j2
endif
SHELL := /bin/bash
# `make V=1` shows the commands.
Q := $(if $(V),,@)
told = @echo '  $(1) $(subst $(B)/,,$(2))'

# --- how to compile ----------------------------------------------------------
WARN := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wundef \
        -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
        -Wwrite-strings -Wformat=2 -Wvla -Werror \
        -Wno-missing-field-initializers
# gcc knows control-flow protection by this name on x86 only, and refuses it
# elsewhere.
IS_X86 := $(filter x86_64-% i386-% i486-% i586-% i686-%, \
            $(shell $(CC) -dumpmachine 2>/dev/null))
HARDEN := -fstack-protector-strong -fstack-clash-protection \
          $(if $(IS_X86),-fcf-protection) -fPIE
CFLAGS_plain := -O2 -g -D_FORTIFY_SOURCE=2 $(HARDEN)
LDFLAGS_plain := -pie -Wl,-z,relro,-z,now
CFLAGS_release := $(CFLAGS_plain)
LDFLAGS_release := $(LDFLAGS_plain)
# Both stages of a profile have the same folder, because the counts lie beside
# the objects; a change of stage changes the flags, so all is compiled again.
PGO_gen := -fprofile-generate -fprofile-update=atomic
PGO_use := -fprofile-use -fprofile-partial-training -Wno-missing-profile \
           -Wno-coverage-mismatch -Wno-error
PGO_STAGE ?= use
CFLAGS_pgo := $(CFLAGS_plain) $(PGO_$(PGO_STAGE))
LDFLAGS_pgo := $(LDFLAGS_plain) $(PGO_$(PGO_STAGE))
# With their checks in the code, the compiler sees paths that do not exist.
SANITIZE := -O1 -g -DBELFRY_DEBUG=1 -Wno-error=maybe-uninitialized \
            -Wno-error=stringop-overflow
CFLAGS_asan := $(SANITIZE) -fsanitize=address,undefined -fno-sanitize-recover=all \
               -fno-omit-frame-pointer
LDFLAGS_asan := -fsanitize=address,undefined
CFLAGS_ubsan := $(SANITIZE) -fsanitize=undefined -fno-sanitize-recover=all
LDFLAGS_ubsan := -fsanitize=undefined
CFLAGS_tsan := $(SANITIZE) -fsanitize=thread -Wno-error=tsan
LDFLAGS_tsan := -fsanitize=thread
CFLAGS_debug := -O0 -g3 -DBELFRY_DEBUG=1
# clang knows other warnings than gcc; gcc's are the ones that must be silent.
CFLAGS_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined \
               -fno-sanitize-recover=undefined -fno-omit-frame-pointer \
               -DBELFRY_DEBUG=1 -w
LDFLAGS_fuzz := -fsanitize=address,undefined
ifeq ($(VARIANT),fuzz)
CC := $(CLANG)
endif
AR := ar

# The programs are optimised as a whole when they are linked, which takes ten
# seconds; VARIANT=plain does without. The tests link the same objects as they
# are. Other compilers have other words for it.
IS_GCC := $(shell LC_ALL=C $(CC) -v 2>&1 | grep '^gcc version')
LTO :=
ifneq ($(and $(IS_GCC),$(filter release pgo,$(VARIANT))),)
AR := $(shell $(CC) -print-prog-name=gcc-ar)
LTO_OBJECTS := -flto=auto -ffat-lto-objects
LTO_PROGRAMS := -O2 -flto=auto
LTO := -fno-lto
endif

include deps/hdr.mk

# jemalloc serves the optimised programs if the system has it; the sanitizers
# bring their own allocators. `make JEMALLOC=` does without.
ifneq ($(filter release plain pgo,$(VARIANT)),)
JEMALLOC ?= $(shell pkg-config --exists jemalloc 2>/dev/null && echo yes)
endif

CFLAGS_ALL = -std=c11 -D_GNU_SOURCE -Isrc $(HDR_CFLAGS) $(WARN) \
             $(if $(JEMALLOC),-DBELFRY_JEMALLOC=1) \
             $(CFLAGS_$(VARIANT)) $(CFLAGS_EXTRA) -pthread
LDFLAGS_ALL = $(LDFLAGS_$(VARIANT)) $(LTO) $(LDFLAGS_EXTRA) -pthread \
              -Wl,--as-needed -Wl,--build-id
LIBS = -lrocksdb -levent_core -levent_pthreads -lxxhash -lcrypto -ljansson \
       -lzstd $(HDR_LIB) $(HDR_LINK) $(if $(JEMALLOC),-ljemalloc) -lm -ldl

# --- layers ------------------------------------------------------------------
# closure_<folder>: the folder and all that its row, and their rows, allow.
# layers.txt lists a folder behind those it uses, so its reverse is the order
# in which one pass of the linker finds everything.
LAYERS_TXT := tests/lint/layers.txt
ROWS := $(shell awk -F: '/^[a-z]+:/ { \
    n = split($$2, w, " "); c = " " $$1 " "; \
    for (i = 1; i <= n; i++) { m = split(closure[w[i]], v, " "); \
      for (j = 1; j <= m; j++) if (!index(c, " " v[j] " ")) c = c v[j] " " } \
    closure[$$1] = c; gsub(" ", ",", c); print $$1 "=" c }' $(LAYERS_TXT))
comma := ,
space := $(subst ,, )
$(foreach r,$(ROWS),$(eval closure_$(firstword $(subst =, ,$(r))) := \
  $(subst $(comma), ,$(lastword $(subst =, ,$(r))))))
ROW_NAMES := $(foreach r,$(ROWS),$(firstword $(subst =, ,$(r))))
# These rows are programs, not libraries.
PROGRAM_ROWS := main gen bench check
LAYERS := $(foreach l,$(filter-out $(PROGRAM_ROWS),$(ROW_NAMES)), \
            $(if $(wildcard src/$(l)/*.c),$(l)))
reverse = $(if $(1),$(call reverse,$(wordlist 2,$(words $(1)),$(1))) \
            $(firstword $(1)))
LINK_ORDER := $(call reverse,$(LAYERS))
# libs_of,<folders>: the libraries that these folders need, in link order.
libs_of = $(foreach l,$(LINK_ORDER),$(if $(filter $(l),$(foreach \
            f,$(1),$(closure_$(f)))),$(B)/lib$(l).a))
objs_of = $(patsubst src/%.c,$(B)/%.o,$(wildcard src/$(1)/*.c))

PROGRAMS := $(B)/belfry-server \
            $(if $(wildcard src/bench/*.c),$(B)/belfry-bench) \
            $(if $(wildcard src/check/*.c),$(B)/belfry-check)

$(PROGRAMS): LTO = $(LTO_PROGRAMS)

.DEFAULT_GOAL := all
.PHONY: all
all: $(PROGRAMS) $(EXTRA_PROGRAMS)

# A stamp changes only when its text does: objects depend on the command that
# compiles them, libraries on the list of their members.
$(shell mkdir -p $(B)/stamps)
stamp = $(if $(filter-out x$(subst $(space),_,$(strip $(file <$(1)))), \
          x$(subst $(space),_,$(strip $(2)))),$(file >$(1),$(strip $(2))))
$(call stamp,$(B)/stamps/flags,$(CC) $(CFLAGS_ALL) $(LTO_OBJECTS))
$(call stamp,$(B)/stamps/link,$(LDFLAGS_ALL) $(LIBS) $(LTO_PROGRAMS))
FLAGS := $(B)/stamps/flags
LINK := $(B)/stamps/link

define layer_rule
$(call stamp,$(B)/stamps/$(1),$(call objs_of,$(1)))
$(B)/lib$(1).a: $(call objs_of,$(1)) $(B)/stamps/$(1)
	@rm -f $$@
	@$(AR) rcs $$@ $(call objs_of,$(1))
endef
$(foreach l,$(LAYERS),$(eval $(call layer_rule,$(l))))

$(B)/%.o: src/%.c $(FLAGS) | $(HDR_READY)
	@mkdir -p $(@D)
	$(call told,CC  ,$@)
	$(Q)$(CC) $(CFLAGS_ALL) $(LTO_OBJECTS) -MMD -MP -c -o $@ $<

$(B)/tests/%.o: tests/%.c $(FLAGS) | $(HDR_READY)
	@mkdir -p $(@D)
	$(call told,CC  ,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -Itests/lib -MMD -MP -c -o $@ $<

# program_rule,<program>,<objects>,<rows it links>
define program_rule
$(1): $(2) $(call libs_of,$(3)) $(LINK) | $(HDR_READY)
	$(call told,LINK,$$@)
	$$(Q)$$(CC) $$(LDFLAGS_ALL) -o $$@ $(2) $(call libs_of,$(3)) $$(LIBS)
endef
$(eval $(call program_rule,$(B)/belfry-server,$(B)/main.o,main))
$(eval $(call program_rule,$(B)/belfry-bench,$(call objs_of,bench),bench))
$(eval $(call program_rule,$(B)/belfry-check,$(call objs_of,check),check))

# --- documents printed from tables -------------------------------------------
# src/gen/<name>.c prints one file; its second line says which:
#   /* prints: docs/errors.md */
GENS := $(wildcard src/gen/*.c)
GEN_BINS := $(GENS:src/gen/%.c=$(B)/gen/%)
$(foreach g,$(GENS),$(eval $(call program_rule,$(g:src/%.c=$(B)/%), \
  $(g:src/%.c=$(B)/%.o),gen)))

.PHONY: docs check-docs gen-bins
gen-bins: $(GEN_BINS)
docs: gen-bins
	@B=$(B) tests/lint/docs write
check-docs: gen-bins
	@B=$(B) tests/lint/docs check

# --- unit tests: tests/unit/<folder>/test_*.c, one program each --------------
# A test links its folder's closure; files of other names beside it, and
# tests/lib, are linked to each.
TESTS := $(wildcard tests/unit/*/test_*.c)
TEST_BINS := $(TESTS:%.c=$(B)/%)
TEST_LIB := $(patsubst %.c,$(B)/%.o,$(wildcard tests/lib/*.c))
unit_helpers = $(patsubst %.c,$(B)/%.o,$(filter-out \
    $(wildcard tests/unit/$(1)/test_*.c),$(wildcard tests/unit/$(1)/*.c)))

# unit_rule,<path without .c>,<folder>
define unit_rule
$(B)/$(1): $(B)/$(1).o $(call unit_helpers,$(2)) $(TEST_LIB) \
    $(call libs_of,$(2)) $(LINK) | $(HDR_READY)
	$(call told,LINK,$$@)
	$$(Q)$$(CC) $$(LDFLAGS_ALL) -o $$@ $(B)/$(1).o $(call unit_helpers,$(2)) \
	    $(TEST_LIB) $(call libs_of,$(2)) -lcmocka $$(LIBS)
endef
$(foreach t,$(TESTS),$(eval $(call unit_rule,$(t:%.c=%),$(word \
  3,$(subst /, ,$(t))))))

.PHONY: unit unit-bins
unit-bins: $(TEST_BINS)
unit: unit-bins
	@B=$(B) tests/run_unit

# `make unit-store` builds and runs the tests of one folder.
UNIT_FOLDERS := $(sort $(foreach t,$(TESTS),$(word 3,$(subst /, ,$(t)))))
.PHONY: $(UNIT_FOLDERS:%=unit-%)
$(foreach f,$(UNIT_FOLDERS),$(eval unit-$(f): \
  $(filter $(B)/tests/unit/$(f)/%,$(TEST_BINS))))
$(UNIT_FOLDERS:%=unit-%):
	@B=$(B) tests/run_unit $(@:unit-%=%)

# --- fuzzing: tests/fuzz/fuzz_*.c, corpus in tests/fuzz/corpus/<name>/ -------
# A target links what the folders that it includes from need.
FUZZ_SECONDS ?= 10
FUZZ_SEED ?= 1
FUZZERS := $(wildcard tests/fuzz/fuzz_*.c)
FUZZ_BINS := $(FUZZERS:%.c=$(B)/%)
fuzz_rows = $(filter $(LAYERS),$(shell sed -nE \
              's/^.include "([a-z]+)\/.*/\1/p' $(1)))
define fuzz_rule
$(B)/$(1): $(B)/$(1).o $(call libs_of,$(2)) $(LINK) | $(HDR_READY)
	$(call told,LINK,$$@)
	$$(Q)$$(CC) $$(LDFLAGS_ALL) -fsanitize=fuzzer -o $$@ $(B)/$(1).o \
	    $(call libs_of,$(2)) $$(LIBS)
endef
ifeq ($(VARIANT),fuzz)
$(foreach f,$(FUZZERS),$(eval $(call fuzz_rule,$(f:%.c=%),$(call \
  fuzz_rows,$(f)))))
endif

.PHONY: fuzz fuzz-bins
fuzz-bins: $(FUZZ_BINS)
fuzz:
	@$(MAKE) --no-print-directory VARIANT=fuzz fuzz-bins
	@B=build/fuzz FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_SEED=$(FUZZ_SEED) \
	    tests/fuzz/run

# --- everything else ---------------------------------------------------------
.PHONY: deps run test test-bins test-long lint sim asan ubsan tsan \
        bench bench-quick install uninstall clean distclean help
DATA ?= ./data

deps:
	@deps/install test

run:
	@deps/install run
	@$(MAKE) --no-print-directory all
	@mkdir -p $(DATA)
	exec $(B)/belfry-server --dir $(DATA) $(ARGS)

test-bins: all unit-bins gen-bins micro-bins
test:
	@deps/install test
	@$(MAKE) --no-print-directory test-bins
	@B=$(B) VARIANT=$(VARIANT) tests/run_all tests/suites.txt

test-long:
	@deps/install long
	@$(MAKE) --no-print-directory test-bins
	@B=$(B) VARIANT=$(VARIANT) tests/run_all tests/suites.txt \
	    tests/suites-long.txt

lint:
	@tests/lint/run

SEEDS ?= 100
sim:
	@B=$(B) tests/sim/run $(SEEDS)

# The suites that are worth their time under a sanitizer, which takes up to
# fifteen times as much.
SANITIZED := unit sim tcl
# Every deadline of the test tools times this; nothing waits longer for what
# does come.
asan ubsan tsan: export WAIT_FACTOR := 12
asan ubsan:
	@$(MAKE) --no-print-directory VARIANT=$@ test-bins
	@B=build/$@ VARIANT=$@ tests/run_all -s "$(SANITIZED)" tests/suites.txt
tsan:
	@$(MAKE) --no-print-directory VARIANT=$@ test-bins
	@B=build/$@ VARIANT=$@ TSAN_OPTIONS=suppressions=$(CURDIR)/tests/lib/tsan.supp \
	    tests/run_all -s "unit tcl" tests/suites.txt

# --- micro benchmarks: benchmarks/micro/*.c, of one layer each ---------------
# As fuzz targets they link what the folders that they include from need.
MICRO_BINS := $(patsubst %.c,$(B)/%,$(wildcard benchmarks/micro/*.c))
$(B)/benchmarks/%.o: benchmarks/%.c $(FLAGS) | $(HDR_READY)
	@mkdir -p $(@D)
	$(call told,CC  ,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<
$(foreach m,$(wildcard benchmarks/micro/*.c),$(eval $(call program_rule,$(B)/$(m:%.c=%),$(B)/$(m:%.c=%.o),$(call fuzz_rows,$(m)))))
.PHONY: micro-bins
micro-bins: $(MICRO_BINS)

bench bench-quick:
	@deps/install bench
	@$(MAKE) --no-print-directory all
	@B=$(B) benchmarks/run $(if $(filter bench-quick,$@),--quick)

# `make VARIANT=pgo` wants a profile: `make profile` builds a server that
# counts, and loads it for a while.
.PHONY: profile
profile:
	@$(MAKE) --no-print-directory VARIANT=pgo PGO_STAGE=gen all
	@B=build/pgo benchmarks/profile

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/etc/belfry \
	    $(DESTDIR)$(PREFIX)/lib/systemd/system
	install -m 755 $(PROGRAMS) $(DESTDIR)$(PREFIX)/bin
	test -e $(DESTDIR)$(PREFIX)/etc/belfry/belfry.conf || \
	    install -m 640 conf/belfry.conf \
	        $(DESTDIR)$(PREFIX)/etc/belfry/belfry.conf
	sed 's|@PREFIX@|$(PREFIX)|g' conf/belfry.service > \
	    $(DESTDIR)$(PREFIX)/lib/systemd/system/belfry.service

# Data stays, and the configuration if somebody has changed it.
ETC := $(DESTDIR)$(PREFIX)/etc/belfry
uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,$(notdir $(PROGRAMS))) \
	    $(DESTDIR)$(PREFIX)/lib/systemd/system/belfry.service
	! cmp -s conf/belfry.conf $(ETC)/belfry.conf || rm $(ETC)/belfry.conf
	test ! -d $(ETC) || rmdir --ignore-fail-on-non-empty $(ETC)

# The fetched dependency stays; `make distclean` takes it too.
clean:
	@find build -mindepth 1 -maxdepth 1 ! -name deps \
	    -exec rm -rf {} + 2>/dev/null || true
distclean:
	@rm -rf build

help:
	@cat tests/lib/help.txt

-include $(wildcard tests/*/*.mk)
-include $(shell find $(B) -name '*.d' 2>/dev/null)
