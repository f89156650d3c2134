<?php
// phpredis: errors that begin with ERR are false, others throw.
error_reporting(E_ALL);
ini_set('display_errors', 'stderr');
$passed = $failed = 0;

function check($name, $ok)
{
    global $passed, $failed;
    echo $ok ? 'ok      ' : 'FAILED  ', $name, "\n";
    $ok ? $passed++ : $failed++;
}

function fields($flat)
{
    $out = [];
    for ($i = 0; $i + 1 < count($flat); $i += 2)
        $out[$flat[$i]] = $flat[$i + 1];
    return $out;
}

$r = new Redis();
$r->connect('127.0.0.1', (int) getenv('PORT'));
check('PING', $r->ping() === true || $r->ping() === '+PONG');
$id = $r->rawCommand('JOB.ADD', 'php', "a\0b\xff", 'PRIORITY', 600);
check('JOB.ADD', is_string($id) && strlen($id) === 26);
$leased = $r->rawCommand('JOB.LEASE', 'php', 'COUNT', 5);
check('JOB.LEASE', count($leased) === 1);
$job = fields($leased[0]);
check('payload', $job['payload'] === "a\0b\xff" && $job['id'] === $id);
$r->rawCommand('JOB.ACK', $job['token']);
check('JOB.STATE', $r->rawCommand('JOB.STATE', $id) === 'completed');
check('nothing left', $r->rawCommand('JOB.LEASE', 'php') === []);
check('an error with ERR is false',
    $r->rawCommand('JOB.ADD', 'php', 'x', 'DELAY', 'abc') === false &&
    strpos($r->getLastError(), 'DELAY wants') !== false);
try {
    $r->rawCommand('JOB.ACK', str_repeat('0', 26) . '#1.1');
    check('other errors throw', false);
} catch (RedisException $e) {
    check('other errors throw', true);
}
check('INFO', isset($r->info()['redis_version']));
$replies = $r->multi()->ping()->echo('x')->exec();
check('MULTI', count($replies) === 2 && $replies[1] === 'x');
check('CLIENT SETNAME', $r->client('setname', 'php') === true &&
    $r->client('getname') === 'php');
$r->close();

$r = new Redis();
$r->connect('127.0.0.1', (int) getenv('AUTH_PORT'));
check('AUTH', $r->auth(getenv('PASSWORD')) === true && $r->select(0));
$r->close();
echo "$passed passed, $failed failed\n";
exit($failed > 0 ? 1 : 0);
