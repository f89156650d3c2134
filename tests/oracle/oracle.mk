# Programs that answer to an oracle, and the oracles themselves.
#
#   make test-cron-oracle    every zone and change against Python's zoneinfo

ORACLE_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/oracle/*.c))

$(ORACLE_BINS): $(B)/tests/oracle/%: $(B)/tests/oracle/%.o \
    $(call libs_of,cron) $(LINK) | $(HDR_READY)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $< $(call libs_of,cron) $(LIBS)

.PHONY: test-cron-oracle
test-cron-oracle: $(B)/tests/oracle/zone_answers
	@/usr/bin/python3 tests/oracle/zones.py $<
