start_server {tags {transactions}} {
    test {DISCARD drops what was kept} {
        r multi
        r ping
        assert_equal OK [r discard]
        assert_equal PONG [r ping]
        assert_error "ERR DISCARD without MULTI" {r discard}
    }
    test {DISCARD cleans a spoiled transaction} {
        r multi
        catch {r nosuch}
        assert_equal OK [r discard]
        r multi
        r ping
        assert_equal PONG [r exec]
    }
}
