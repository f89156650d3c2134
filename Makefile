# Belfry. `make help` lists the targets.
#
# One source folder is one library; what a folder may link is the row of
# tests/lint/layers.txt, for the server and for the unit tests alike.
# VARIANT names a way to compile: release (default), asan, ubsan, tsan, sabotage
# builds. Each has its own folder under build/.

VARIANT ?= release
B := build/$(VARIANT)
CC ?= gcc
PREFIX ?= /usr/local
MAKEFLAGS += --no-builtin-rules

LAYERS := util resp net conf log cron store engine commands server
PKGS := libevent libxxhash openssl jansson libzstd

WARN := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wundef \
        -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
        -Wwrite-strings -Wformat=2 -Wvla -Werror
HARDEN := -fstack-protector-strong -fstack-clash-protection \
          -fcf-protection -fPIE
CFLAGS_release := -O2 -g -D_FORTIFY_SOURCE=2 $(HARDEN)
LDFLAGS_release := -pie -Wl,-z,relro,-z,now
CFLAGS_asan := -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all \
               -fno-omit-frame-pointer -DBELFRY_DEBUG=1
LDFLAGS_asan := -fsanitize=address,undefined
CFLAGS_ubsan := -O1 -g -fsanitize=undefined -fno-sanitize-recover=all -DBELFRY_DEBUG=1
LDFLAGS_ubsan := -fsanitize=undefined
CFLAGS_tsan := -O1 -g -fsanitize=thread -DBELFRY_DEBUG=1
LDFLAGS_tsan := -fsanitize=thread
CFLAGS_debug := -O0 -g3 -DBELFRY_DEBUG=1

CFLAGS_ALL = -std=c11 -D_GNU_SOURCE -Isrc -I$(HDR_DIR)/include $(WARN) \
             $(CFLAGS_$(VARIANT)) $(CFLAGS_EXTRA) -pthread -MMD -MP
LDFLAGS_ALL = $(LDFLAGS_$(VARIANT)) $(LDFLAGS_EXTRA) -pthread
LIBS = -lrocksdb -levent_core -levent_pthreads -lxxhash -lcrypto -ljansson \
       -lzstd $(HDR_LIB) -lm -ldl

include deps/hdr.mk

libs := $(LAYERS:%=$(B)/lib%.a)
# Dependants first, so that one pass of the linker finds everything.
link_order := server commands engine store log cron conf net resp util
link_libs := $(link_order:%=$(B)/lib%.a)

.DEFAULT_GOAL := all
.PHONY: all
all: $(B)/belfry-server $(EXTRA_PROGRAMS)

objs = $(patsubst src/%.c,$(B)/%.o,$(wildcard src/$(1)/*.c))
define layer_rule
$(B)/lib$(1).a: $(call objs,$(1)) Makefile
	@mkdir -p $(B)
	@rm -f $$@
	@ar rcs $$@ $(call objs,$(1))
endef
$(foreach l,$(LAYERS),$(eval $(call layer_rule,$(l))))

$(B)/%.o: src/%.c Makefile $(HDR_LIB)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -c -o $@ $<

$(B)/belfry-server: $(B)/main.o $(link_libs) $(HDR_LIB)
	$(CC) $(LDFLAGS_ALL) -o $@ $(B)/main.o $(link_libs) $(LIBS)

# --- unit tests: tests/unit/<folder>/test_*.c, one program each -------------
# A test of a folder links that folder and what its row in layers.txt allows.
row = $(1) $(shell awk -F: '$$1=="$(1)"{print $$2}' tests/lint/layers.txt)
closure = $(sort $(foreach l,$(call row,$(1)),$(call row,$(l))))
test_libs = $(foreach l,$(link_order),$(if $(filter $(l),$(closure)),$(B)/lib$(l).a))
TESTS := $(wildcard tests/unit/*/test_*.c)
TEST_BINS := $(TESTS:tests/unit/%.c=$(B)/tests/%)

define test_rule
$(B)/tests/$(1)/test_%: tests/unit/$(1)/test_%.c $(foreach l,$(link_order),$(if $(filter $(l),$(call closure,$(1))),$(B)/lib$(l).a)) $(HDR_LIB)
	@mkdir -p $$(@D)
	$(CC) $(CFLAGS_ALL) -Itests/lib $(LDFLAGS_ALL) -o $$@ $$< \
	  $(foreach l,$(link_order),$(if $(filter $(l),$(call closure,$(1))),$(B)/lib$(l).a)) -lcmocka $(LIBS)
endef
$(foreach l,$(LAYERS),$(eval $(call test_rule,$(l))))

.PHONY: unit unit-bins
unit-bins: $(TEST_BINS)
unit: unit-bins
	@for t in $(TEST_BINS); do echo "== $$t"; $$t || exit 1; done

# `make unit-store` runs the tests of one folder.
unit-%: FORCE
	@$(MAKE) --no-print-directory $(filter $(B)/tests/$*/%,$(TEST_BINS))
	@for t in $(filter $(B)/tests/$*/%,$(TEST_BINS)); do echo "== $$t"; $$t || exit 1; done
FORCE:

-include $(shell find $(B) -name '*.d' 2>/dev/null)
