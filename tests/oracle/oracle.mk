# Programs that answer to an oracle, and the oracles themselves.
#
#   make test-cron-oracle       every zone and change against zoneinfo (8 s)
#   make test-cron-croner       random patterns against croner; needs npm
#   make test-cron-croner CRONER_QUESTIONS=100000

ORACLE_BINS := $(patsubst %.c,$(B)/%,$(wildcard tests/oracle/*.c))
CRONER_QUESTIONS ?= 3000
CRONER_SEED ?= 1

$(ORACLE_BINS): $(B)/tests/oracle/%: $(B)/tests/oracle/%.o \
    $(call libs_of,cron) $(LINK) | $(HDR_READY)
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $< $(call libs_of,cron) $(LIBS)

# Before the suites start: two of them need these at the same time.
test-bins: $(ORACLE_BINS)

.PHONY: test-cron-oracle test-cron-croner
test-cron-oracle: $(B)/tests/oracle/zone_answers
	@tests/oracle/zones.py $<

# The lock file has versions and hashes; where packages come from is npm's
# configuration.
CRONER := build/oracle/node_modules/croner/package.json
$(CRONER): tests/oracle/package.json tests/oracle/package-lock.json
	@mkdir -p build/oracle
	@cp tests/oracle/package.json tests/oracle/package-lock.json build/oracle
	@cd build/oracle && npm ci --ignore-scripts --no-audit --no-fund \
	    --loglevel=error >/dev/null
	@touch $@

test-cron-croner: $(ORACLE_BINS) $(CRONER)
	@node tests/oracle/croner.mjs $(B)/tests/oracle build/oracle \
	    $(CRONER_QUESTIONS) $(CRONER_SEED)
