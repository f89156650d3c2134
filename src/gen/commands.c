/* Prints every command with its arguments and options, from the tables.
 * prints: docs/commands.md */
#include <stdio.h>
#include <string.h>

#include "commands/describe.h"
#include "server/commands.h"

enum { COLUMNS = 76, GROUPS_MAX = 32 };

static const char head[] =
    "# Commands\n\n"
    "<!-- Printed by src/gen/commands.c; `make docs` writes it. -->\n\n"
    "Names and options are read in any case. Options stand behind the "
    "positional\narguments, in any order, each with one value; those with "
    "`...` may be\nrepeated, those parted by `|` exclude each other, and a "
    "word in inner\nbrackets belongs directly behind its option. `ALSO` is "
    "the last option: all\nwords behind it are more of the first argument.\n\n"
    "Durations are milliseconds or carry a unit: `250ms 30s 5m 2h 7d`. Times "
    "are\nunix milliseconds or RFC 3339. Sizes are bytes or carry `kb mb "
    "gb`. Objects\nare maps in RESP3 and flat arrays with the same order in "
    "RESP2; times in\nreplies are integer milliseconds.\n\n"
    "An error reply begins with one word of [errors.md](errors.md); a wrong "
    "word in\na command is `ERR` and names the word and what is allowed.\n\n"
    "`COMMAND DOCS` tells all this to programs; redis-cli makes its hints of "
    "it.\n";

/* "    JOB.ADD queue payload [..]" in lines; a bracket is not broken. */
static void print_synopsis(const struct command *cmd)
{
    struct buf text = {0};
    describe_synopsis(cmd, &text);
    const char *p = buf_cstr(&text);
    size_t column = 0;
    (void)printf("\n```\n");
    while (*p != '\0') {
        size_t n = 0;
        int depth = 0;
        while (p[n] != '\0' && (depth > 0 || p[n] != ' ')) {
            depth += (p[n] == '[') - (p[n] == ']');
            n++;
        }
        if (column > 0 && column + 1 + n > COLUMNS) {
            (void)printf("\n   ");
            column = 3;
        }
        (void)printf("%s%.*s", column > 0 ? " " : "", (int)n, p);
        column += n + 1;
        p += n + (p[n] == ' ');
    }
    (void)printf("\n```\n");
    buf_release(&text);
}

/* A bar would end the cell. */
static void print_cell(const char *text)
{
    for (; *text != '\0'; text++)
        (void)printf(*text == '|' ? "\\|" : "%c", *text);
}

static void print_range(int64_t min, int64_t max)
{
    if (min == 0 && max == 0)
        return;
    if (max == 0 && min > 0)
        (void)printf(" (at least %lld)", (long long)min);
    else
        (void)printf(" (%lld to %lld)", (long long)min, (long long)max);
}

static const char *type_text(enum opt_type type)
{
    switch (type) {
    case OPT_FLAG:
        return "no value";
    case OPT_BYTES:
        return "string";
    case OPT_NAME:
        return "name";
    case OPT_I64:
    case OPT_U64:
    case OPT_U32:
        return "integer";
    case OPT_F64:
        return "number";
    case OPT_MS:
        return "duration";
    case OPT_TIME:
        return "time";
    case OPT_SIZE:
        return "size";
    case OPT_ENUM:
        return "one of";
    case OPT_PAIR:
        return "name=value";
    case OPT_LIST:
        return "count and words";
    case OPT_REST:
        return "all that follows";
    case OPT_TWO:
        return "two words";
    }
    return "";
}

static void print_opts(const struct command *cmd)
{
    if (cmd->opts == NULL)
        return;
    (void)printf("\n| option | value | |\n| --- | --- | --- |\n");
    for (const struct opt *o = cmd->opts; o->name != NULL; o++) {
        (void)printf("| `%s` | %s", o->name, type_text(o->type));
        for (size_t i = 0; o->words != NULL && o->words[i] != NULL; i++)
            (void)printf("%s `%s`", i > 0 ? "," : "", o->words[i]);
        print_range(o->min, o->max);
        (void)printf(" | ");
        print_cell(o->help == NULL ? "" : o->help);
        if (o->value_default != NULL)
            (void)printf(" (default %s)", o->value_default);
        if (o->max_count > 0)
            (void)printf("; up to %u times", o->max_count);
        if (o->parent != NULL)
            (void)printf("; behind `%s`", o->parent);
        if (o->required)
            (void)printf("; required");
        (void)printf(" |\n");
    }
}

static void print_errors(const struct command *cmd)
{
    if (cmd->errors == NULL || cmd->errors[0] == ERR_OK)
        return;
    (void)printf("\nErrors:");
    for (size_t i = 0; cmd->errors[i] != ERR_OK; i++)
        (void)printf("%s `%s`", i > 0 ? "," : "", err_prefix(cmd->errors[i]));
    (void)printf(".\n");
}

static void print_notes(const struct command *cmd)
{
    if ((cmd->flags & CMD_BLOCKING) != 0)
        (void)printf("\nMay wait: use a connection of its own.\n");
    if ((cmd->flags & CMD_DEBUG) != 0)
        (void)printf("\nNeeds `enable-debug-command yes`.\n");
    if (cmd->example != NULL && *cmd->example != '\0')
        (void)printf("\nExample: `%s`\n", cmd->example);
}

static void print_one(const struct command *cmd)
{
    (void)printf("\n%s\n", cmd->summary);
    print_synopsis(cmd);
    print_opts(cmd);
    (void)printf("\nReply: %s.\n", cmd->reply);
    print_errors(cmd);
    print_notes(cmd);
}

static void print_command(const struct command *cmd)
{
    (void)printf("\n### %s\n", cmd->name);
    if (cmd->exec != NULL)
        print_one(cmd);
    else
        (void)printf("\n%s\n", cmd->summary);
    for (size_t i = 0; cmd->subs != NULL && cmd->subs[i] != NULL; i++) {
        const char *bar = strchr(cmd->subs[i]->name, '|');
        (void)printf("\n#### %s %s\n", cmd->name, bar + 1);
        print_one(cmd->subs[i]);
    }
}

static void print_groups(const struct command *const *const *tables)
{
    const char *done[GROUPS_MAX] = {NULL};
    size_t n = 0;
    for (size_t t = 0; tables[t] != NULL; t++) {
        for (size_t i = 0; tables[t][i] != NULL; i++) {
            const char *group = tables[t][i]->group;
            size_t k = 0;
            while (k < n && strcmp(done[k], group) != 0)
                k++;
            if (k < n || n == GROUPS_MAX)
                continue;
            done[n++] = group;
            (void)printf("\n## %c%s\n", group[0] - ('a' - 'A'), group + 1);
            for (size_t u = t; tables[u] != NULL; u++)
                for (size_t j = 0; tables[u][j] != NULL; j++)
                    if (strcmp(tables[u][j]->group, group) == 0)
                        print_command(tables[u][j]);
        }
    }
}

int main(void)
{
    const struct command *const *const tables[] = {registry_jobs,
                                                   registry_server, NULL};
    (void)fputs(head, stdout);
    print_groups(tables);
    return 0;
}
