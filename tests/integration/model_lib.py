"""What the parts of model_test.py share."""


def text(x):
    """Replies as strings, lists of them, numbers and None."""
    if isinstance(x, bytes):
        return x.decode()
    return [text(y) for y in x] if isinstance(x, list) else x


def fields(flat):
    """An object of RESP2: a flat list of names and values."""
    return dict(zip([text(k) for k in flat[::2]], flat[1::2]))
