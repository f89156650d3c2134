#include "store/sortmap.h"

#include "store/entry.h"
#include "util/alloc.h"
#include "util/assert.h"

#define FANOUT 64
#define HEIGHT_MAX 12

struct inner {
    unsigned len;
    const char *seps[FANOUT]; /* seps[0] is not used */
    void *children[FANOUT];
};

/* The way from the root to a leaf: which child was taken at each height. */
struct path {
    struct inner *nodes[HEIGHT_MAX];
    unsigned at[HEIGHT_MAX];
};

/* Most keys differ in their first few words; memcmp() as a call costs more
 * than these loads. */
static inline int compare(struct slice key, const char *row)
{
    struct change_head h = change_head(row);
    const char *a = key.data, *b = row + CHANGE_HEAD;
    size_t n = key.len < h.key_len ? key.len : h.key_len;
    while (n >= 8) {
        uint64_t x, y;
        memcpy(&x, a, 8);
        memcpy(&y, b, 8);
        if (x != y)
            return __builtin_bswap64(x) < __builtin_bswap64(y) ? -1 : 1;
        a += 8;
        b += 8;
        n -= 8;
    }
    if (n >= 4) {
        uint32_t x, y;
        memcpy(&x, a, 4);
        memcpy(&y, b, 4);
        if (x != y)
            return __builtin_bswap32(x) < __builtin_bswap32(y) ? -1 : 1;
        a += 4;
        b += 4;
        n -= 4;
    }
    while (n > 0) {
        if (*a != *b)
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        a++;
        b++;
        n--;
    }
    return key.len < h.key_len ? -1 : key.len > h.key_len;
}

static struct sortmap_leaf *leaf_new(struct sortmap *m)
{
    struct sortmap_leaf *l = mem_alloc(sizeof(*l));
    l->prev = l->next = NULL;
    l->upper = NULL;
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

void sortmap_release(struct sortmap *m)
{
    free_inner(m->root, m->height);
    for (struct sortmap_leaf *l = m->first, *next; l != NULL; l = next) {
        next = l->next;
        mem_free(l);
    }
    memset(m, 0, sizeof(*m));
}

/* --- finding ------------------------------------------------------------- */

/* The first row of the leaf that is not below `key`. */
static unsigned leaf_lower_bound(const struct sortmap_leaf *l, struct slice key,
                                 bool *found)
{
    unsigned lo = 0, hi = l->len;
    *found = false;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        int c = compare(key, l->rows[mid]);
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
static inline unsigned child_of(const struct inner *in, struct slice key)
{
    unsigned lo = 1, hi = in->len;
    while (lo < hi) {
        unsigned mid = (lo + hi) / 2;
        if (compare(key, in->seps[mid]) < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo - 1;
}

static struct sortmap_leaf *descend(const struct sortmap *m, struct slice key)
{
    void *node = m->root;
    for (unsigned h = m->height; h > 0; h--) {
        struct inner *in = node;
        node = in->children[child_of(in, key)];
    }
    return node;
}

/* As descend(), and the way. */
static struct path path_to(const struct sortmap *m, struct slice key,
                           const struct sortmap_leaf *leaf)
{
    struct path path = {0};
    void *node = m->root;
    for (unsigned h = m->height; h-- > 0;) {
        path.nodes[h] = node;
        path.at[h] = child_of(node, key);
        node = path.nodes[h]->children[path.at[h]];
    }
    ASSERT(node == leaf);
    return path;
}

static bool leaf_covers(const struct sortmap_leaf *l, struct slice key)
{
    return l->len > 0 && compare(key, l->rows[0]) >= 0 &&
           (l->upper == NULL || compare(key, l->upper) < 0);
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
                          struct slice key, bool *found)
{
    *found = false;
    if (at > l->len || (at > 0 && compare(key, l->rows[at - 1]) <= 0))
        return false;
    if (at == l->len)
        return true;
    int c = compare(key, l->rows[at]);
    *found = c == 0;
    return c <= 0;
}

bool sortmap_find(struct sortmap *m, struct slice key, struct sortmap_pos *pos)
{
    struct sortmap_leaf *l = m->last;
    bool found;

    if (l == NULL) {
        *pos = (struct sortmap_pos){NULL, 0};
        return false;
    }
    /* Births: behind everything. */
    if (l->len > 0 && compare(key, l->rows[l->len - 1]) > 0) {
        *pos = (struct sortmap_pos){l, l->len};
        return false;
    }
    l = m->fingers[0];
    if (l != NULL && m->hint < l->len && compare(key, l->rows[m->hint]) == 0) {
        *pos = (struct sortmap_pos){l, m->hint};
        return true;
    }
    l = NULL;
    for (int i = 0; i < SORTMAP_FINGERS && l == NULL; i++)
        if (m->fingers[i] != NULL && leaf_covers(m->fingers[i], key))
            l = m->fingers[i];
    if (l == NULL)
        l = descend(m, key);
    remember(m, l);
    pos->leaf = l;
    if (hint_is_right(l, m->hint, key, &found))
        pos->at = m->hint;
    else
        pos->at = leaf_lower_bound(l, key, &found);
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
    memmove(&l->rows[at + 1], &l->rows[at], tail * sizeof(l->rows[0]));
    memmove(&l->marks[at + 1], &l->marks[at], tail);
    l->rows[at] = row;
    l->marks[at] = mark;
    l->len++;
}

/* Add `child`, whose least key is `sep`, right of the path's child at height
 * `h`; splits upwards as needed. */
static void inner_add(struct sortmap *m, struct path *path, unsigned h,
                      const char *sep, void *child)
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
        const char *right_sep = in->seps[keep];
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
    struct path path = path_to(m, change_key(row), l);
    struct sortmap_leaf *right = leaf_new(m);
    bool tail = l == m->last && at == l->len;
    unsigned keep = tail ? l->len : at == l->len ? l->len * 7 / 8 : l->len / 2;
    const char *sep;

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
    sep = tail ? row : right->rows[0];
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
    const char *row = l->rows[pos.at];
    l->len--;
    m->len--;
    leaf_close(l, pos.at);
    /* Rows often go in the order of their keys, and the next one was written
     * long ago. */
    if (pos.at < l->len)
        prefetch_key(l->rows[pos.at]);
    if (l->len == 0 && m->height > 0) {
        struct path path = path_to(m, change_key(row), l);
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
    struct sortmap_leaf *l = key.len == 0 ? m->first : descend(m, key);
    return settle(l, key.len == 0 ? 0 : leaf_lower_bound(l, key, &found));
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

static size_t check_node(const void *node, unsigned height, const char *lower,
                         const char *upper, const struct sortmap *m)
{
    size_t len = 0;
    if (height == 0) {
        const struct sortmap_leaf *l = node;
        ASSERT(l->upper == upper);
        ASSERT(l->rows + l->len <= l->row_slots + SORTMAP_LEAF);
        ASSERT(l->rows - l->row_slots == l->marks - l->mark_slots);
        ASSERT(l->len > 0 || m->height == 0);
        for (unsigned i = 0; i < l->len; i++) {
            struct slice key = change_key(l->rows[i]);
            ASSERT(lower == NULL || compare(key, lower) >= 0);
            ASSERT(upper == NULL || compare(key, upper) < 0);
            ASSERT(i == 0 || compare(key, l->rows[i - 1]) > 0);
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
    size_t len = 0;
    const struct sortmap_leaf *last = NULL;
    if (m->root == NULL) {
        ASSERT(m->len == 0 && m->first == NULL && m->last == NULL);
        return;
    }
    ASSERT(check_node(m->root, m->height, NULL, NULL, m) == m->len);
    for (const struct sortmap_leaf *l = m->first; l != NULL; l = l->next) {
        ASSERT(l->prev == last);
        len += l->len;
        last = l;
    }
    ASSERT(last == m->last);
    ASSERT(len == m->len);
}
