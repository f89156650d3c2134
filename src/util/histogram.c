#include "util/histogram.h"

#include <hdr/hdr_histogram.h>

#include "util/alloc.h"
#include "util/assert.h"

struct histogram {
    struct hdr_histogram *hdr;
    uint64_t max;
};

struct histogram *histogram_new(uint64_t max, unsigned digits)
{
    ASSERT(max >= 2 && max <= INT64_MAX / 2);
    ASSERT(digits >= 1 && digits <= 5);
    struct histogram *h = NEW(struct histogram);
    /* The arguments are in range: it can only be memory. */
    if (hdr_init(1, (int64_t)max, (int)digits, &h->hdr) != 0)
        mem_refused("a histogram");
    h->max = max;
    return h;
}

void histogram_free(struct histogram **h)
{
    if (*h == NULL)
        return;
    hdr_close((*h)->hdr);
    FREE(h);
}

void histogram_record_n(struct histogram *h, uint64_t value, uint64_t n)
{
    if (value < 1)
        value = 1;
    if (value > h->max)
        value = h->max;
    bool in_range = hdr_record_values(h->hdr, (int64_t)value, (int64_t)n);
    ASSERT(in_range);
}

void histogram_record(struct histogram *h, uint64_t value)
{
    histogram_record_n(h, value, 1);
}

void histogram_reset(struct histogram *h)
{
    hdr_reset(h->hdr);
}

static void add_to(void *ud, uint64_t value, uint64_t count)
{
    struct histogram *to = ud;
    histogram_record_n(to, value, count);
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
    ASSERT(to != from);
    histogram_each(from, add_to, to);
}

uint64_t histogram_count(const struct histogram *h)
{
    return (uint64_t)h->hdr->total_count;
}

uint64_t histogram_percentile(const struct histogram *h, double percent)
{
    ASSERT(percent >= 0 && percent <= 100);
    if (histogram_count(h) == 0)
        return 0;
    /* A bucket's upper end may lie over the largest value recorded. */
    uint64_t v = (uint64_t)hdr_value_at_percentile(h->hdr, percent);
    return v < h->max ? v : h->max;
}

uint64_t histogram_min(const struct histogram *h)
{
    return histogram_count(h) == 0 ? 0 : (uint64_t)hdr_min(h->hdr);
}

uint64_t histogram_max(const struct histogram *h)
{
    if (histogram_count(h) == 0)
        return 0;
    uint64_t v = (uint64_t)hdr_max(h->hdr);
    return v < h->max ? v : h->max;
}

double histogram_mean(const struct histogram *h)
{
    return histogram_count(h) == 0 ? 0 : hdr_mean(h->hdr);
}

size_t histogram_memory(const struct histogram *h)
{
    return sizeof(*h) + hdr_get_memory_size(h->hdr);
}

void histogram_each(const struct histogram *h, histogram_fn fn, void *ud)
{
    struct hdr_iter it;
    hdr_iter_recorded_init(&it, h->hdr);
    while (hdr_iter_next(&it)) {
        uint64_t v = (uint64_t)it.value;
        fn(ud, v < 1 ? 1 : v, (uint64_t)it.count);
    }
}
