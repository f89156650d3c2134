# The shim between a server and its disk, and servers that cheat on purpose.
RIGS := $(B)/rigs
RIG_SOURCES := tests/rigs/disk.c tests/rigs/shim.c

$(RIGS)/shim.so: $(RIG_SOURCES) $(wildcard tests/rigs/*.h)
	@mkdir -p $(@D)
	$(call told,LINK,$@)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -O2 -g $(filter-out -Wmissing-prototypes \
	    -Wstrict-prototypes,$(WARN)) -fPIC -shared -pthread -o $@ \
	    $(RIG_SOURCES) -ldl

$(RIGS)/alloc.so: tests/rigs/alloc.c
	@mkdir -p $(@D)
	$(call told,LINK,$@)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -O2 -g $(WARN) -fPIC -shared -o $@ $< -ldl

# A cheating server is the real one in which the files that know the macro are
# compiled with it: their objects stand before the libraries.
CHEATS := no_fsync ignore_sync late_end no_checksum reply_early counters \
          cut_only full_for_all drop_refused short_backup calm_end
cheat_macro = BELFRY_SABOTAGE_$(shell echo $(1) | tr a-z A-Z)
define cheat_rule
CHEAT_SRC_$(1) := $$(shell grep -lr $(call cheat_macro,$(1)) src \
                    --include='*.c' | sort)
CHEAT_OBJ_$(1) := $$(CHEAT_SRC_$(1):src/%.c=$(RIGS)/$(1)/%.o)
$(RIGS)/$(1)/%.o: src/%.c $(FLAGS) | $(HDR_READY)
	@mkdir -p $$(@D)
	$$(call told,CC  ,$$@)
	$$(Q)$$(CC) $$(CFLAGS_ALL) -D$(call cheat_macro,$(1))=1 \
	    -Wno-unused-parameter -MMD -MP -c -o $$@ $$<
$(RIGS)/$(1)/belfry-server: $$(CHEAT_OBJ_$(1)) $(B)/belfry-server
	@test -n "$$(CHEAT_OBJ_$(1))" || { echo "no source knows" \
	    "$(call cheat_macro,$(1))" >&2; exit 1; }
	$$(call told,LINK,$$@)
	$$(Q)$$(CC) $$(LDFLAGS_ALL) -o $$@ $$(CHEAT_OBJ_$(1)) $(B)/main.o \
	    $(call libs_of,main) $$(LIBS)
endef
$(foreach c,$(CHEATS),$(eval $(call cheat_rule,$(c))))

.PHONY: rig-bins cheats
rig-bins: $(RIGS)/shim.so $(RIGS)/alloc.so
cheats: $(CHEATS:%=$(RIGS)/%/belfry-server)
test-bins: rig-bins
