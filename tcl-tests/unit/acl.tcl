start_server {tags {server}} {
    test {ACL knows one user} {
        assert_equal default [r acl whoami]
        assert_equal default [r acl users]
        assert_equal {{user default on nopass ~* &* +@all}} [r acl list]
        assert_equal +@all [dict get [r acl getuser default] commands]
        assert_equal (nil) [r acl getuser nobody]
        assert {"admin" in [r acl cat]}
        assert {"config|set" in [r acl cat admin]}
        assert_error "ERR Unknown category 'foo'" {r acl cat foo}
    }
    test {ACL GENPASS makes random hex} {
        assert_equal 64 [string length [r acl genpass]]
        assert {[regexp {^[0-9a-f]{2}$} [r acl genpass 5]]}
        assert {[r acl genpass] ne [r acl genpass]}
        assert_error "ERR ACL GENPASS: bits wants*" {r acl genpass 0}
    }
}
