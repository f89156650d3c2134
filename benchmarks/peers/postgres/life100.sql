\set n random(1, 8093)
insert into jobs (payload)
    select body from bodies where n between :n and :n + 99;
with n as (
    select id from jobs where queue = 1 and state = 0
    order by run_at, id limit 100 for update skip locked),
u as (
    update jobs j set state = 1, lease_until = now() + interval '60 s'
    from n where j.id = n.id returning j.id)
select coalesce(array_agg(id), '{}') as jids from u \gset
delete from jobs where id = any(:jids::bigint[]) and state = 1;
