drop table if exists jobs;
create table jobs (
    id bigserial primary key,
    queue int not null default 1,
    state smallint not null default 0,
    run_at timestamptz not null default now(),
    lease_until timestamptz,
    payload text not null
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01,
        autovacuum_vacuum_cost_delay = 0);
create index jobs_ready on jobs (queue, run_at, id) where state = 0;
-- Bodies: random text, as the other servers get. A run of rows beside each
-- other costs next to nothing to read.
drop table if exists bodies;
create table bodies (n int primary key, body text not null);
insert into bodies select n, substr(translate(encode(
        sha512(random()::text::bytea) || sha512(random()::text::bytea),
        'base64'), E'\n', ''), 1, 150)
    from generate_series(1, 8192) n;
analyze bodies;
