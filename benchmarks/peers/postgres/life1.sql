\set n random(1, 8192)
insert into jobs (payload) select body from bodies where n = :n;
with n as (
    select id from jobs where queue = 1 and state = 0
    order by run_at, id limit 1 for update skip locked),
u as (
    update jobs j set state = 1, lease_until = now() + interval '60 s'
    from n where j.id = n.id returning j.id)
select coalesce(max(id), 0) as jid from u \gset
delete from jobs where id = :jid and state = 1;
