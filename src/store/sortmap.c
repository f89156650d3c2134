#include "store/sortmap.h"

#include "store/entry.h"
#include "util/alloc.h"
#include "util/assert.h"

#define FANOUT 64
#define HEIGHT_MAX 12

struct inner {
    unsigned len;
    struct sortmap_row seps[FANOUT]; /* seps[0] is not used */
    void *children[FANOUT];
};

/* The way from the root to a leaf: which child was taken at each height. */
struct path {
    struct inner *nodes[HEIGHT_MAX];
    unsigned at[HEIGHT_MAX];
};

/* A key that is looked for. */
struct sought {
    uint64_t high, low;
    struct slice key;
};

#define HEAD 16

static inline struct sought seek_for(struct slice key)
{
    struct sought s = {.key = key};
    char padded[HEAD] = {0};
    const char *head = key.data;
    if (key.len < HEAD) {
        if (key.len > 0)
            memcpy(padded, key.data, key.len);
        head = padded;
    }
    memcpy(&s.high, head, 8);
    memcpy(&s.low, head + 8, 8);
    s.high = __builtin_bswap64(s.high);
    s.low = __builtin_bswap64(s.low);
    return s;
}

static inline struct sortmap_row row_of(const char *at)
{
    struct sought s = seek_for(change_key(at));
    return (struct sortmap_row){s.high, s.low, at};
}

/* Of keys whose heads are the same. */
static int compare_rest(struct slice key, const char *at)
{
    struct slice other = change_key(at);
    if (key.len <= HEAD || other.len <= HEAD)
        return key.len < other.len ? -1 : key.len > other.len;
    struct slice a = slice_of(key.data + HEAD, key.len - HEAD);
    struct slice b = slice_of(other.data + HEAD, other.len - HEAD);
    return slice_eq(a, b) ? 0 : slice_cmp(a, b); /* mostly the same id */
}

static inline int compare(const struct sought *s, const struct sortmap_row *r)
{
    if (s->high != r->high)
        return s->high < r->high ? -1 : 1;
    if (s->low != r->low)
        return s->low < r->low ? -1 : 1;
    return compare_rest(s->key, r->at);
}

static struct sortmap_leaf *leaf_new(struct sortmap *m)
{
    struct sortmap_leaf *l = mem_alloc(sizeof(*l));
    l->prev = l->next = NULL;
    l->upper = (struct sortmap_row){0};
    l->len = 0;
    l->rows = l->row_slots;
    l->marks = l->mark_slots;
    m->node_bytes += sizeof(*l);
    return l;
}

void sortmap_init(struct sortmap *m)
{
    memset(m, 0, sizeof(*m));
}

static void free_inner(void *node, unsigned height)
{
    if (height == 0)
        return; /* leaves are freed by their chain */
    struct inner *in = node;
    for (unsigned i = 0; i < in->len; i++)
        free_inner(in->children[i], height - 1);
    mem_free(in);
}

void sortmap_shed(struct sortmap *m, struct sortmap_leaf **chain)
{
    if (m->root == NULL)
        return;
    free_inner(m->root, m->height);
    m->last->next = *chain;
    *chain = m->first;
    memset(m, 0, sizeof(*m));
}

void sortmap_free_leaves(struct sortmap_leaf **chain, size_t most)
{
    for (; *chain != NULL && most > 0; most--) {
        struct sortmap_leaf *l = *chain;
        *chain = l->next;
        mem_free(l);
    }
}

void sortmap_release(struct sortmap *m)
{
    struct sortmap_leaf *leaves = NULL;
    sortmap_shed(m, &leaves);
    sortmap_free_leaves(&leaves, SIZE_MAX);
}

/* --- finding ------------------------------------------------------------- */

/* The first row of the leaf that is not below `key`. */
static unsigned leaf_lower_bound(const struct sortmap_leaf *l,
                                 const struct sought *key, bool *found)
{
    unsigned lo = 0, hi = l->len;
    *found = false;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        int c = compare(key, &l->rows[mid]);
        if (c == 0) {
            *found = true;
            return mid;
        }
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Which child of an inner node a key belongs to. */
static inline unsigned child_of(const struct inner *in,
                                const struct sought *key)
{
    unsigned lo = 1, hi = in->len;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (compare(key, &in->seps[mid]) < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo - 1;
}

static struct sortmap_leaf *descend(const struct sortmap *m,
                                    const struct sought *key)
{
    void *node = m->root;
    for (unsigned h = m->height; h > 0; h--) {
        struct inner *in = node;
        node = in->children[child_of(in, key)];
    }
    return node;
}

/* As descend(), and the way. */
static struct path path_to(const struct sortmap *m, const char *row,
                           const struct sortmap_leaf *leaf)
{
    struct sought key = seek_for(change_key(row));
    struct path path = {0};
    void *node = m->root;
    for (unsigned h = m->height; h-- > 0;) {
        path.nodes[h] = node;
        path.at[h] = child_of(node, &key);
        node = path.nodes[h]->children[path.at[h]];
    }
    ASSERT(node == leaf);
    return path;
}

static bool leaf_covers(const struct sortmap_leaf *l, const struct sought *key)
{
    return l->len > 0 && compare(key, &l->rows[0]) >= 0 &&
           (l->upper.at == NULL || compare(key, &l->upper) < 0);
}

static void remember(struct sortmap *m, struct sortmap_leaf *l)
{
    if (m->fingers[0] == l)
        return;
    if (m->fingers[1] != l)
        m->fingers[2] = m->fingers[1];
    m->fingers[1] = m->fingers[0];
    m->fingers[0] = l;
}

static void forget(struct sortmap *m, const struct sortmap_leaf *l)
{
    for (int i = 0; i < SORTMAP_FINGERS; i++)
        if (m->fingers[i] == l)
            m->fingers[i] = NULL;
}

/* As leaf_lower_bound(), if it is where the last find or insert ended. */
static bool hint_is_right(const struct sortmap_leaf *l, unsigned at,
                          const struct sought *key, bool *found)
{
    *found = false;
    if (at > l->len || (at > 0 && compare(key, &l->rows[at - 1]) <= 0))
        return false;
    if (at == l->len)
        return true;
    int c = compare(key, &l->rows[at]);
    *found = c == 0;
    return c <= 0;
}

bool sortmap_find(struct sortmap *m, struct slice key, struct sortmap_pos *pos)
{
    struct sought sought = seek_for(key);
    struct sortmap_leaf *l = m->last;
    bool found;

    if (l == NULL) {
        *pos = (struct sortmap_pos){NULL, 0};
        return false;
    }
    /* Births: behind everything. */
    if (l->len > 0 && compare(&sought, &l->rows[l->len - 1]) > 0) {
        *pos = (struct sortmap_pos){l, l->len};
        return false;
    }
    l = m->fingers[0];
    if (l != NULL && m->hint < l->len &&
        compare(&sought, &l->rows[m->hint]) == 0) {
        *pos = (struct sortmap_pos){l, m->hint};
        return true;
    }
    l = NULL;
    for (int i = 0; i < SORTMAP_FINGERS && l == NULL; i++)
        if (m->fingers[i] != NULL && leaf_covers(m->fingers[i], &sought))
            l = m->fingers[i];
    if (l == NULL)
        l = descend(m, &sought);
    remember(m, l);
    pos->leaf = l;
    /* At the hint, or behind what was put there: who works through many lanes
     * puts a row behind the last one's. */
    if (hint_is_right(l, m->hint, &sought, &found))
        pos->at = m->hint;
    else if (hint_is_right(l, m->hint + 1, &sought, &found))
        pos->at = m->hint + 1;
    else
        pos->at = leaf_lower_bound(l, &sought, &found);
    m->hint = pos->at;
    return found;
}

/* --- changing ------------------------------------------------------------ */

/* Rows went from the front: use their slots again. */
static void leaf_rewind(struct sortmap_leaf *l)
{
    memmove(l->row_slots, l->rows, l->len * sizeof(l->rows[0]));
    memmove(l->mark_slots, l->marks, l->len);
    l->rows = l->row_slots;
    l->marks = l->mark_slots;
}

static void leaf_put(struct sortmap_leaf *l, unsigned at, const char *row,
                     uint8_t mark)
{
    unsigned tail = l->len - at;
    if (l->rows + l->len == l->row_slots + SORTMAP_LEAF)
        leaf_rewind(l);
    if (tail > 0) { /* most come behind all others */
        memmove(&l->rows[at + 1], &l->rows[at], tail * sizeof(l->rows[0]));
        memmove(&l->marks[at + 1], &l->marks[at], tail);
    }
    l->rows[at] = row_of(row);
    l->marks[at] = mark;
    l->len++;
}

/* Add `child`, whose least key is `sep`, right of the path's child at height
 * `h`; splits upwards as needed. */
static void inner_add(struct sortmap *m, struct path *path, unsigned h,
                      struct sortmap_row sep, void *child)
{
    if (h == m->height) {
        struct inner *root = mem_alloc(sizeof(*root));
        ASSERT(m->height < HEIGHT_MAX - 1);
        root->len = 2;
        root->children[0] = m->root;
        root->children[1] = child;
        root->seps[1] = sep;
        m->root = root;
        m->height++;
        m->node_bytes += sizeof(*root);
        return;
    }
    struct inner *in = path->nodes[h];
    unsigned at = path->at[h] + 1;
    if (in->len == FANOUT) {
        /* An ascending load fills nodes to the brim. */
        unsigned keep = at == FANOUT ? FANOUT - 1 : FANOUT / 2;
        struct inner *right = mem_alloc(sizeof(*right));
        struct sortmap_row right_sep = in->seps[keep];
        right->len = in->len - keep;
        memcpy(right->children, &in->children[keep],
               right->len * sizeof(right->children[0]));
        memcpy(right->seps, &in->seps[keep],
               right->len * sizeof(right->seps[0]));
        in->len = keep;
        m->node_bytes += sizeof(*right);
        inner_add(m, path, h + 1, right_sep, right);
        if (at > keep) {
            in = right;
            at -= keep;
        }
    }
    memmove(&in->children[at + 1], &in->children[at],
            (in->len - at) * sizeof(in->children[0]));
    memmove(&in->seps[at + 1], &in->seps[at],
            (in->len - at) * sizeof(in->seps[0]));
    in->children[at] = child;
    in->seps[at] = sep;
    in->len++;
}

/* Make room in the full leaf `l` for a row of `key` at `at`. */
static struct sortmap_pos leaf_split(struct sortmap *m, struct sortmap_leaf *l,
                                     unsigned at, const char *row)
{
    struct path path = path_to(m, row, l);
    struct sortmap_leaf *right = leaf_new(m);
    bool tail = l == m->last && at == l->len;
    unsigned keep = tail ? l->len : at == l->len ? l->len * 7 / 8 : l->len / 2;
    struct sortmap_row sep;

    right->len = l->len - keep;
    memcpy(right->rows, &l->rows[keep], right->len * sizeof(l->rows[0]));
    memcpy(right->marks, &l->marks[keep], right->len);
    l->len = keep;
    right->next = l->next;
    right->prev = l;
    right->upper = l->upper;
    l->next = right;
    if (right->next != NULL)
        right->next->prev = right;
    else
        m->last = right;
    sep = tail ? row_of(row) : right->rows[0];
    l->upper = sep;
    inner_add(m, &path, 0, sep, right);
    return at > keep || tail ? (struct sortmap_pos){right, at - keep}
                             : (struct sortmap_pos){l, at};
}

void sortmap_insert(struct sortmap *m, struct sortmap_pos pos, const char *row,
                    uint8_t mark)
{
    if (pos.leaf == NULL) {
        ASSERT(m->root == NULL);
        pos.leaf = leaf_new(m);
        m->root = m->first = m->last = pos.leaf;
    }
    if (pos.leaf->len == SORTMAP_LEAF)
        pos = leaf_split(m, pos.leaf, pos.at, row);
    leaf_put(pos.leaf, pos.at, row, mark);
    if (pos.leaf == m->fingers[0])
        m->hint = pos.at + 1;
    m->len++;
}

/* Take the empty leaf at the end of `path` out. Its range of keys falls to the
 * leaf before it, or, if it was the first child all the way up to where the
 * removal stops, to the one behind it. */
static void leaf_drop(struct sortmap *m, struct sortmap_leaf *l,
                      struct path *path)
{
    unsigned h = 0;
    while (path->nodes[h]->len == 1) {
        mem_free(path->nodes[h]);
        m->node_bytes -= sizeof(struct inner);
        h++;
        ASSERT(h < m->height);
    }
    struct inner *in = path->nodes[h];
    unsigned at = path->at[h];
    if (at > 0) {
        ASSERT(l->prev != NULL);
        l->prev->upper = l->upper;
    }
    in->len--;
    memmove(&in->children[at], &in->children[at + 1],
            (in->len - at) * sizeof(in->children[0]));
    memmove(&in->seps[at], &in->seps[at + 1],
            (in->len - at) * sizeof(in->seps[0]));
    if (l->prev != NULL)
        l->prev->next = l->next;
    else
        m->first = l->next;
    if (l->next != NULL)
        l->next->prev = l->prev;
    else
        m->last = l->prev;
    forget(m, l);
    mem_free(l);
    m->node_bytes -= sizeof(*l);
    while (m->height > 0 && ((struct inner *)m->root)->len == 1) {
        in = m->root;
        m->root = in->children[0];
        m->height--;
        mem_free(in);
        m->node_bytes -= sizeof(*in);
    }
}

/* Rows behind `at`, which is gone, move up. */
static void leaf_close(struct sortmap_leaf *l, unsigned at)
{
    if (at == 0) {
        l->rows++;
        l->marks++;
        return;
    }
    memmove(&l->rows[at], &l->rows[at + 1], (l->len - at) * sizeof(l->rows[0]));
    memmove(&l->marks[at], &l->marks[at + 1], l->len - at);
}

/* Its bytes may lie in two cache lines. */
static void prefetch_key(const char *row)
{
    __builtin_prefetch(row);
    __builtin_prefetch(row + CHANGE_HEAD + 16);
}

void sortmap_remove(struct sortmap *m, struct sortmap_pos pos)
{
    struct sortmap_leaf *l = pos.leaf;
    ASSERT(pos.at < l->len);
    const char *row = l->rows[pos.at].at;
    l->len--;
    m->len--;
    leaf_close(l, pos.at);
    /* Rows often go in the order of their keys, and the next one was written
     * long ago. */
    if (pos.at < l->len)
        prefetch_key(l->rows[pos.at].at);
    if (l->len == 0 && m->height > 0) {
        struct path path = path_to(m, row, l);
        leaf_drop(m, l, &path);
    }
}

/* --- cursors ------------------------------------------------------------- */

static struct sortmap_pos settle(struct sortmap_leaf *l, unsigned at)
{
    if (at < l->len)
        return (struct sortmap_pos){l, at};
    return (struct sortmap_pos){l->next, 0};
}

struct sortmap_pos sortmap_seek(const struct sortmap *m, struct slice key)
{
    bool found;
    if (m->len == 0)
        return (struct sortmap_pos){NULL, 0};
    if (key.len == 0)
        return settle(m->first, 0);
    struct sought sought = seek_for(key);
    struct sortmap_leaf *l = descend(m, &sought);
    return settle(l, leaf_lower_bound(l, &sought, &found));
}

struct sortmap_pos sortmap_before(const struct sortmap *m, struct slice key)
{
    if (m->len == 0)
        return (struct sortmap_pos){NULL, 0};
    struct sortmap_pos pos = {NULL, 0};
    if (key.len > 0)
        pos = sortmap_seek(m, key);
    if (pos.leaf == NULL)
        return (struct sortmap_pos){m->last, m->last->len - 1};
    return sortmap_prev(pos);
}

struct sortmap_pos sortmap_next(struct sortmap_pos pos)
{
    return settle(pos.leaf, pos.at + 1);
}

struct sortmap_pos sortmap_prev(struct sortmap_pos pos)
{
    if (pos.at > 0)
        return (struct sortmap_pos){pos.leaf, pos.at - 1};
    struct sortmap_leaf *l = pos.leaf->prev;
    return (struct sortmap_pos){l, l == NULL ? 0 : l->len - 1};
}

/* --- checking ------------------------------------------------------------ */

static bool same(const struct sortmap_row *a, const struct sortmap_row *b)
{
    return a->at == b->at && a->high == b->high && a->low == b->low;
}

static size_t check_node(const void *node, unsigned height,
                         struct sortmap_row lower, struct sortmap_row upper,
                         const struct sortmap *m)
{
    size_t len = 0;
    if (height == 0) {
        const struct sortmap_leaf *l = node;
        ASSERT(same(&l->upper, &upper));
        ASSERT(l->rows + l->len <= l->row_slots + SORTMAP_LEAF);
        ASSERT(l->rows - l->row_slots == l->marks - l->mark_slots);
        ASSERT(l->len > 0 || m->height == 0);
        for (unsigned i = 0; i < l->len; i++) {
            struct sortmap_row row = row_of(l->rows[i].at);
            struct sought key = seek_for(change_key(row.at));
            ASSERT(same(&row, &l->rows[i]));
            ASSERT(lower.at == NULL || compare(&key, &lower) >= 0);
            ASSERT(upper.at == NULL || compare(&key, &upper) < 0);
            ASSERT(i == 0 || compare(&key, &l->rows[i - 1]) > 0);
        }
        return l->len;
    }
    const struct inner *in = node;
    ASSERT(in->len > 0 && in->len <= FANOUT);
    for (unsigned i = 0; i < in->len; i++)
        len += check_node(in->children[i], height - 1,
                          i == 0 ? lower : in->seps[i],
                          i + 1 < in->len ? in->seps[i + 1] : upper, m);
    return len;
}

void sortmap_check(const struct sortmap *m)
{
    const struct sortmap_row none = {0};
    size_t len = 0;
    const struct sortmap_leaf *last = NULL;
    if (m->root == NULL) {
        ASSERT(m->len == 0 && m->first == NULL && m->last == NULL);
        return;
    }
    ASSERT(check_node(m->root, m->height, none, none, m) == m->len);
    for (const struct sortmap_leaf *l = m->first; l != NULL; l = l->next) {
        ASSERT(l->prev == last);
        len += l->len;
        last = l;
    }
    ASSERT(last == m->last);
    ASSERT(len == m->len);
}
