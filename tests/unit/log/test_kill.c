/* A process that is killed: whatever it said was acked is there, in each mode,
 * because a kill takes nothing out of the page cache. */
#include "unit.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "log_disk.h"
#include "log_lib.h"

#include "wait.h"

#define CYCLES 24

/* What the child has said, in memory that outlives it. */
struct ledger {
    _Atomic uint64_t acked;
    _Atomic uint64_t begun;
};

static void child(const struct place *p, struct ledger *said, uint64_t seed)
{
    static char text[4096][64];
    struct log *l = place_open(p, true);
    struct rng rng;
    rng_seed(&rng, seed);
    for (uint64_t i = log_last(l) + 1;; i++) {
        while (i > log_written(l) + 4000)
            wait_a_little();
        (void)log_append(l, entry_text(text[i % 4096], i));
        atomic_store(&said->begun, i);
        uint64_t roll = rng_below(&rng, 30);
        if (roll < 10)
            log_submit(l);
        else if (roll < 20)
            (void)log_sync_inline(l);
        else if (roll == 20)
            log_release(l, i > 2000 ? i - 2000 : 0);
        else if (roll == 21)
            log_request_sync(l);
        atomic_store(&said->acked, log_acked(l));
    }
}

static void a_killed_process_loses_nothing_that_was_acked(void **state)
{
    (void)state;
    struct place p;
    struct rng rng;
    uint64_t killed_at = 0;
    struct ledger *said =
        (struct ledger *)mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(said != MAP_FAILED);
    place_make(&p);
    p.segment_bytes = 128 << 10;
    rng_seed(&rng, 5);
    for (uint64_t n = 0; n < CYCLES; n++) {
        p.sync = (enum log_sync_mode)(n % 3);
        uint64_t more = 1 + rng_below(&rng, 3000);
        atomic_store(&said->begun, 0);
        atomic_store(&said->acked, 0);
        pid_t pid = fork();
        if (pid == 0)
            child(&p, said, n); /* for ever */
        assert_true(wait_until(said->begun > killed_at + more));
        assert_int_equal(kill(pid, SIGKILL), 0);
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        struct log *l = place_open(&p, false);
        assert_true(log_last(l) >= said->acked);
        assert_true(log_last(l) <= said->begun);
        check_entries(l, log_first(l), log_last(l));
        killed_at = log_last(l);
        log_close(&l);
    }
    (void)munmap(said, sizeof(*said));
    place_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_process_loses_nothing_that_was_acked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
