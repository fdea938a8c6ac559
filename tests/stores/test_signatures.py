"""Requests are signed so that a server that checks it takes them, whatever letters a key has."""

from store_programs import run


# The server works a signature out over a URL as it reads it, in which these letters, and the slashes of what is listed,
# are no longer escaped; Amazon wants them escaped. So they are tried on one that checks no signatures.
CHECKED = ["plain", "with blank", "a-b_c.d~e"]
OTHERS = ["a+b=c&d", "per%cent", "~tilde*'()!", "q?uery#x", "umlaut-\u00e4"]


def test_a_server_that_checks_signatures_takes_ours(strict_s3):
    assert written_and_read(CHECKED, strict_s3, lists=False) == ["3", str(10 << 20)]


def test_keys_may_have_letters_that_mean_something_in_urls(s3):
    assert written_and_read(OTHERS, s3) == ["5", str(10 << 20)]


def written_and_read(names, server, lists=True):
    return run(
        f"""
        g = tf.gfile
        names = {names!r}
        for name in names:
            with g.GFile("s3://bucket/d/" + name, "wb") as file:
                file.write(name.encode())
        found = g.ListDirectory("s3://bucket/d") if {lists} else names
        assert sorted(found) == sorted(names), found
        for name in names:
            assert g.GFile("s3://bucket/d/" + name, "rb").read() == name.encode()
            if {lists}:
                g.Rename("s3://bucket/d/" + name, "s3://bucket/e/" + name)
        with g.GFile("s3://bucket/large", "wb") as file:
            file.write(bytes(10 << 20))
        print(len(g.ListDirectory("s3://bucket/e")) if {lists} else len(names), g.Stat("s3://bucket/large").length)
        """,
        **server,
    ).split()


def test_a_secret_that_is_wrong_is_refused_and_not_shown(strict_s3):
    said = run(
        'code_of(lambda: tf.gfile.ListDirectory("s3://bucket"))',
        **{**strict_s3, "AWS_SECRET_ACCESS_KEY": "wrong-and-never-shown"},
    )
    assert said.startswith("PermissionDeniedError | ") and "SignatureDoesNotMatch" in said, said
    assert "never-shown" not in said
