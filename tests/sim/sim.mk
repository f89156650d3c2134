# The simulation links what the engine's row allows.
SIM := $(B)/tests/sim/belfry-sim
SIM_OBJS := $(patsubst %.c,$(B)/%.o,$(wildcard tests/sim/*.c))
$(B)/tests/sim/%.o: tests/sim/%.c $(FLAGS) | $(HDR_READY)
	@mkdir -p $(@D)
	$(call told,CC  ,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -Itests/sim -MMD -MP -c -o $@ $<
$(eval $(call program_rule,$(SIM),$(SIM_OBJS),engine))
sim: $(SIM)
test-bins: $(SIM)
