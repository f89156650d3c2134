# Perl's Redis
use strict;
use warnings;
use Redis;

my ($passed, $failed) = (0, 0);

sub check {
    my ($name, $ok) = @_;
    print $ok ? 'ok      ' : 'FAILED  ', $name, "\n";
    $ok ? $passed++ : $failed++;
}

sub life {
    my ($what, %options) = @_;
    my $r = Redis->new(%options);
    my $queue = 'perl-' . rand();
    check("$what: PING", $r->ping eq 'PONG');
    check("$what: INFO", exists $r->info->{redis_version});
    my $id = $r->__run_cmd('JOB.ADD', 0, undef, undef, $queue, "a\0b");
    check("$what: JOB.ADD", length $id == 26);
    my @leased = $r->__run_cmd('JOB.LEASE', 0, undef, undef, $queue);
    @leased = @{$leased[0]} if @leased == 1 && ref $leased[0][0];
    my %job = @{$leased[0]};
    check("$what: JOB.LEASE", $job{id} eq $id && $job{payload} eq "a\0b");
    $r->__run_cmd('JOB.ACK', 0, undef, undef, $job{token});
    check("$what: JOB.STATE",
        $r->__run_cmd('JOB.STATE', 0, undef, undef, $id) eq 'completed');
    eval { $r->__run_cmd('JOB.ADD', 0, undef, undef, $queue, 'x', 'DELAY', 'a') };
    check("$what: an error dies", $@ =~ /DELAY wants a duration/);
    $r->quit;
}

life('open', server => "127.0.0.1:$ENV{PORT}");
life('locked', server => "127.0.0.1:$ENV{AUTH_PORT}",
    password => $ENV{PASSWORD}, name => 'worker-1');
print "$passed passed, $failed failed\n";
exit($failed > 0);
