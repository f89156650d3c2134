# redis-rb
require 'redis'
$VERBOSE = true
$passed = $failed = 0

def check(name)
  yield
  $passed += 1
  puts "ok      #{name}"
rescue StandardError => e
  $failed += 1
  puts "FAILED  #{name}: #{e.message} #{e.backtrace.first(3)}"
end

def equal(got, wanted)
  raise "wanted #{wanted.inspect}, got #{got.inspect}" unless got == wanted
end

def life(r)
  queue = "ruby-#{rand(1 << 60)}"
  equal r.ping, 'PONG'
  raise 'INFO' unless r.info.key?('redis_version')
  id = r.call(['JOB.ADD', queue, "a\0b", 'PRIORITY', '600'])
  leased = r.call(['JOB.LEASE', queue, 'COUNT', '5'])
  equal leased.length, 1
  job = leased[0].each_slice(2).to_h
  equal job['id'], id
  equal job['payload'], "a\0b"
  r.call(['JOB.ACK', job['token']])
  equal r.call(['JOB.LEASE', queue]), []
  begin
    r.call(['JOB.ADD', queue, 'x', 'DELAY', 'abc'])
    raise 'no error'
  rescue Redis::CommandError => e
    raise e unless e.message.include?('DELAY wants a duration')
  end
  equal((r.multi { |m| m.ping; m.echo('x') }), %w[PONG x])
  equal((r.pipelined { |p| 3.times { |i| p.echo(i.to_s) } }), %w[0 1 2])
  r.close
end

check('as it comes') { life(Redis.new(port: ENV['PORT'].to_i)) }
check('with a password, named, database 0') do
  life(Redis.new(port: ENV['AUTH_PORT'].to_i, password: ENV['PASSWORD'],
                 id: 'worker-1', db: 0))
end
check('with user and password') do
  life(Redis.new(port: ENV['AUTH_PORT'].to_i, username: 'default',
                 password: ENV['PASSWORD']))
end
puts "#{$passed} passed, #{$failed} failed"
exit($failed.positive? ? 1 : 0)
