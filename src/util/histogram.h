/* Distributions of durations and sizes, with a bounded relative error
 * (HdrHistogram behind it).
 *
 * Memory depends on the range and the digits only: 1 us to an hour takes about
 * 190 KB with three digits and 25 KB with two. Not for several threads at once.
 */
#ifndef UTIL_HISTOGRAM_H
#define UTIL_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

struct histogram;

/* Values from 1 to `max` (0 counts as 1, more as `max`), right to `digits`
 * decimal digits (1 to 5). */
struct histogram *histogram_new(uint64_t max, unsigned digits);
void histogram_free(struct histogram **h);

void histogram_record(struct histogram *h, uint64_t value);
void histogram_record_n(struct histogram *h, uint64_t value, uint64_t n);
void histogram_reset(struct histogram *h);

/* Add what `from` holds; values over the range of `to` count as its max. */
void histogram_merge(struct histogram *to, const struct histogram *from);

uint64_t histogram_count(const struct histogram *h);
/* The value that `percent` (0 to 100) of the records do not pass; 0 if there
 * is no record. */
uint64_t histogram_percentile(const struct histogram *h, double percent);
uint64_t histogram_min(const struct histogram *h);
uint64_t histogram_max(const struct histogram *h);
double histogram_mean(const struct histogram *h);
size_t histogram_memory(const struct histogram *h);

/* Each value that was recorded, ascending, with its count: to store a
 * histogram, or to print buckets. */
typedef void (*histogram_fn)(void *ud, uint64_t value, uint64_t count);
void histogram_each(const struct histogram *h, histogram_fn fn, void *ud);

#endif
